/* What Python tells: classes with their slots, objects, and the functions of Python. */

#define MOST_SLOTS 15

typedef struct {
    PyTypeObject *type;
    Py_ssize_t at[MOST_SLOTS]; /* of the slots, in bytes */
} Class;

/* The slots of each class, in one list: what numbers them, and what finds them. */
#define NODE_SLOTS(each)                                                                           \
    each(Node, op) each(Node, inputs) each(Node, shape) each(Node, dtype) each(Node, strides)      \
        each(Node, device) each(Node, attrs) each(Node, data) each(Node, line) each(Node, layout)  \
            each(Node, seq) each(Node, needed) each(Node, shared) each(Node, lent)
#define STORAGE_SLOTS(each) each(Storage, node) each(Storage, version) each(Storage, exports)
#define ARRAY_SLOTS(each)                                                                          \
    each(Array, _storage) each(Array, _geometry) each(Array, _offset) each(Array, _scalar)         \
        each(Array, _base)
#define LOG_SLOTS(each)                                                                            \
    each(Log, entries) each(Log, prune_at) each(Log, recorded) each(Log, made)                     \
        each(Log, evaluated) each(Log, running) each(Log, nested)
#define SETTINGS_SLOTS(each)                                                                       \
    each(Settings, pending_nodes) each(Settings, pending_bytes) each(Settings, fuse)               \
        each(Settings, compile)
#define BUFFER_SLOTS(each) each(Buffer, address) each(Buffer, nbytes) each(Buffer, owner)
#define KERNEL_STEP_SLOTS(each)                                                                    \
    each(KernelStep, outputs) each(KernelStep, nodes) each(KernelStep, inside)                     \
        each(KernelStep, arguments) each(KernelStep, scalars) each(KernelStep, call)               \
            each(KernelStep, base)
#define PLAN_SLOTS(each)                                                                           \
    each(Plan, schedule) each(Plan, calls) each(Plan, shifts) each(Plan, sizes) each(Plan, made)
#define RECORDING_SLOTS(each)                                                                      \
    each(Recording, settings) each(Recording, guards) each(Recording, memory)                      \
        each(Recording, arrays) each(Recording, numbers) each(Recording, draws)                    \
            each(Recording, written) each(Recording, outputs) each(Recording, tree)                \
                each(Recording, replay)
#define REPLAY_SLOTS(each)                                                                         \
    each(Replay, device) each(Replay, plan) each(Replay, only) each(Replay, name)                  \
        each(Replay, edition)
#define STATISTICS_SLOTS(each) each(Statistics, launches) each(Statistics, operations)
#define PACKING_SLOTS(each) each(Packing, template) each(Packing, places) each(Packing, letters)
#define GIVEN_SLOTS(each)                                                                          \
    each(Given, key) each(Given, arrays) each(Given, nodes) each(Given, first) each(Given, places) \
        each(Given, numbers) each(Given, objects) each(Given, containers)
#define HOST_CALL_SLOTS(each)                                                                      \
    each(HostCall, packing) each(HostCall, pointer) each(HostCall, units) each(HostCall, grain)
#define CUDA_CALL_SLOTS(each)                                                                      \
    each(CudaCall, packing) each(CudaCall, pointer) each(CudaCall, blocks) each(CudaCall, threads) \
        each(CudaCall, device)
#define GUARDS_SLOTS(each)                                                                         \
    each(Guards, _named) each(Guards, _functions) each(Guards, _cells) each(Guards, _checks)       \
        each(Guards, arrays)
#define RECORDED_SLOTS(each)                                                                       \
    each(Recorded, recordings) each(Recorded, free) each(Recorded, never) each(Recorded, unused)   \
        each(Recorded, repeated) each(Recorded, last)
#define BLOCK_SLOTS(each)                                                                          \
    each(Block, address) each(Block, memory) each(Block, home) each(Block, is_big)
#define LOAN_SLOTS(each) each(Loan, block)
#define ENDING_SLOTS(each)                                                                         \
    each(Ending, replay) each(Ending, asked) each(Ending, memory) each(Ending, arrays)             \
        each(Ending, numbers) each(Ending, outputs) each(Ending, kept)

/* Each class, by the name that it has in Python. */
#define CLASSES(each)                                                                              \
    each(Node, "Node", NODE_SLOTS) each(Storage, "Storage", STORAGE_SLOTS)                         \
        each(Array, "ndarray", ARRAY_SLOTS) each(Log, "Log", LOG_SLOTS)                            \
            each(Settings, "Settings", SETTINGS_SLOTS) each(Buffer, "Buffer", BUFFER_SLOTS)        \
                each(KernelStep, "KernelStep", KERNEL_STEP_SLOTS)                                  \
                    each(Packing, "Packing", PACKING_SLOTS) each(Given, "Given", GIVEN_SLOTS)      \
                        each(Block, "_Block", BLOCK_SLOTS) each(Loan, "_Loan", LOAN_SLOTS)         \
                            each(Plan, "Plan", PLAN_SLOTS) each(Recording, "Recording",            \
                                                                RECORDING_SLOTS)                   \
                                each(Replay, "Replay", REPLAY_SLOTS)                               \
                                    each(Statistics, "Statistics", STATISTICS_SLOTS)               \
                                        each(Ending, "Ending", ENDING_SLOTS)                       \
                                            each(HostCall, "HostCall", HOST_CALL_SLOTS)            \
                                                each(CudaCall, "CudaCall", CUDA_CALL_SLOTS)        \
                                                    each(Guards, "Guards", GUARDS_SLOTS)           \
                                                        each(Recorded, "Recorded", RECORDED_SLOTS)

#define NUMBER_SLOT(class, slot) class##_##slot,
#define DECLARE_CLASS(class, name, slots)                                                          \
    enum { slots(NUMBER_SLOT) };                                                                   \
    static Class class;
CLASSES(DECLARE_CLASS)

static const struct {
    const char *name;
    Class *class;
    const char *slots[MOST_SLOTS];
} classes[] = {
#define NAME_SLOT(class, slot) #slot,
#define DESCRIBE_CLASS(class, name, slots) {name, &class, {slots(NAME_SLOT)}},
    CLASSES(DESCRIBE_CLASS)};

/* Objects that Python tells, by name. */
#define OBJECTS(each)                                                                              \
    each(ticks) each(scalar) each(update) each(view) each(layouts) each(settings) each(package)    \
        each(recording) each(logs) each(Signature) each(absorbing) each(constant) each(no_writes)  \
            each(host_entry) each(cuda_launch) each(loans) each(end) each(block_sizes) each(usual) \
                each(careful) each(unit) each(state) each(array) each(whole_geometry)              \
                    each(Parameter) each(leaf) each(statistics) each(filled) each(Op) each(Place)  \
                        each(missing) each(editions) each(current_stream) each(cuda_alloc)         \
                            each(Explored)
#define DECLARE(name) static PyObject *name;
OBJECTS(DECLARE)

static Py_ssize_t SMALL;     /* bytes */
static Py_ssize_t IMAGINARY; /* the address where geometries begin */

static const struct {
    const char *name;
    PyObject **place;
} objects[] = {
#define PLACE(name) {#name, &name},
    OBJECTS(PLACE)};

/* The functions here, by how they are called, and those of Python that they hand what is unusual
   to. */
#define FUNCTIONS(each)                                                                            \
    each(new_node, FAST) each(pending_closure, KEYWORDS) each(user_line, PLAIN)                    \
        each(wrap, KEYWORDS) each(unary, FAST) each(binary, FAST) each(get_item, FAST)             \
            each(sign, FAST) each(settle, FAST) each(pending_by_name, FAST) each(run_kernel, FAST) \
                each(run_usual, FAST) each(run_on_host, FAST) each(launch_on_cuda, FAST)           \
                    each(given, FAST) each(run_again, FAST) each(repeat, FAST)                     \
                        each(take_block, FAST) each(end_loan, FAST) each(take_from_pool, FAST)     \
                            each(product, FAST) each(reduction, KEYWORDS) each(mean, KEYWORDS)     \
                                each(variance, FAST) each(rerun, FAST) each(explored, FAST)        \
                                    each(learned, FAST) each(catch_up, PLAIN)                      \
                                        each(call_recorded, FAST) each(hold, FAST)                 \
                                            each(run_replay, FAST)
#define NUMBER(name, kind) F_##name,
enum { FUNCTIONS(NUMBER) COUNT };
#define NAME(name, kind) #name,
static const char *const names[] = {FUNCTIONS(NAME)};
static PyObject *slow[COUNT];

/* Names of attributes. */
#define WORDS(each)                                                                                \
    each(__name__) each(has_traced) each(tracing) each(prune) each(address) each(allocate)         \
        each(run) each(free) each(pop) each(append) each(T) each(get) each(prepare) each(locked)   \
            each(name) each(__enter__) each(__exit__) each(shape) each(dtype) each(ptr)            \
                each(streams) each(waiting) each(watch)
#define WORD(name) static PyObject *word_##name;
WORDS(WORD)

static PyObject *no_tuple, *no_text, *zero;

#define AT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
#define SLOT(object, class, slot) AT(object, class.at[class##_##slot])
#define NODE(object, slot) SLOT(object, Node, slot)
#define IS(object, class) (Py_TYPE(object) == (class).type)

static int learn(Class *class, const char *const *slots, PyObject *type)
{
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "expected a class");
        return -1;
    }
    for (int i = 0; i < MOST_SLOTS && slots[i]; i++) {
        PyObject *member = PyObject_GetAttrString(type, slots[i]);
        if (!member)
            return -1;
        if (Py_TYPE(member) != &PyMemberDescr_Type) {
            PyErr_Format(PyExc_TypeError, "%s of %R is no slot", slots[i], type);
            Py_DECREF(member);
            return -1;
        }
        class->at[i] = ((PyMemberDescrObject *)member)->d_member->offset;
        Py_DECREF(member);
    }
    Py_INCREF(type);
    class->type = (PyTypeObject *)type;
    return 0;
}

static PyObject *other_version(const char *name)
{
    return PyErr_Format(PyExc_ImportError,
                        "cucudnn.accelerator._c was built from another version of the package: it "
                        "knows no %s; install again",
                        name);
}

/* tell(name, object): what an object of Python is, which the functions here need. */
static PyObject *tell(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *object;
    if (!PyArg_ParseTuple(args, "sO", &name, &object))
        return NULL;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(name, classes[i].name)) {
            if (learn(classes[i].class, classes[i].slots, object) < 0)
                return NULL;
            Py_RETURN_NONE;
        }
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (!strcmp(name, objects[i].name)) {
            Py_XSETREF(*objects[i].place, Py_NewRef(object));
            Py_RETURN_NONE;
        }
    if (!strcmp(name, "SMALL") || !strcmp(name, "IMAGINARY")) {
        *(*name == 'S' ? &SMALL : &IMAGINARY) = PyLong_AsSsize_t(object);
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    return other_version(name);
}

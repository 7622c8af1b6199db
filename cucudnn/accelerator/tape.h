/* The tape: calls that come as they came before are written down in place of being recorded.

   From one evaluation to the next a loop makes the same calls, on the results of one another. The
   first times each is made as ever, and what it was is kept: a step, with the steps that came after
   it. When a call comes again after the same calls, it is only written on the tape, and what it
   returns is a *blank* array: a handle without a storage. If then the same array is asked for as
   before, what was run then runs again, on the operands of now (an ending, array/endings.py), and
   nothing is recorded at all.

   Who wants to know more of a blank array, or is about to write, to evaluate or to look for what is
   pending, has the calls on the tape made before, in their order and as of their lines. So no array
   changes while there are calls on the tape.

   There is one tape, of the thread that called last. */

#define MOST_OPERANDS 5
#define MOST_CALLS 2048
#define MOST_INPUTS 64
#define MOST_BYTES (64 << 20) /* of inputs: the tape keeps them alive until it ends */
#define MOST_WAYS 8           /* on from a step */
#define MOST_BEGINNINGS 64
#define MOST_STEPS 50000
#define MOST_ENDINGS 4 /* of a step */
#define ROOTS 4
#define MOST_MISSED 6 /* tapes after one another, of which none came to an ending */
#define SITES 256     /* where tapes begin, which are remembered */

/* An operand: a constant; a float, which may change; the result of a call on the tape; an array from
   before, of which the first mention says what it is. */
enum { CONSTANT, NUMBER, RESULT, INPUT };

typedef struct {
    int kind, index;  /* of the call, or among the inputs */
    int is_new, same; /* the first mention; the first input of the same memory */
    PyObject *value;  /* the constant; of an input (layout, device, scalar or not, geometry) */
} Operand;

typedef struct Step Step;
struct Step {
    int function, count, frame; /* frames between the call and the user's line */
    Operand operands[MOST_OPERANDS];
    PyObject *code; /* of the user's line */
    int instruction;
    PyObject *shape, *dtype; /* of the result */
    int base;                /* of a view: the call that made what it shows, or INPUTS_VIEW */
    PyObject *spare;         /* a blank array that nobody holds any more */
    PyObject *endings;       /* a list, or NULL */
    unsigned missed;         /* of a first step: tapes after one another that came to no ending */
    Step *ways, *other;      /* the first that came after it; the next that came in its place */
};

enum { NO_VIEW = -1, INPUTS_VIEW = -2 };

typedef struct {
    Step *step;
    PyObject *handle; /* blank; while a way is explored, a weak reference */
    PyObject *number; /* the float; while a way is explored, the node made of it; or NULL */
} Call;

typedef struct {
    PyObject *handle; /* while a way is explored, a weak reference */
    PyObject *node;   /* whose memory it shows; not held */
    long long seq;    /* of the node, while a way is explored */
} Input;

static struct {
    enum { IDLE, FOLLOWING, EXPLORING } mode;
    unsigned long thread;
    int off;         /* calls are made as ever: the tape makes them, or is being changed */
    int fresh;       /* nothing has been called since an evaluation */
    int count, done; /* calls on the tape, and how many of them have been made */
    int inputs_count;
    size_t generation; /* goes up whenever the tape ends */
    Py_ssize_t bytes;
    Step *root, *at; /* before the first call, and the last call's */
    PyObject *settings;
    Call calls[MOST_CALLS];
    Input inputs[MOST_INPUTS];
} tape;

/* Where tapes begin. A site is explored again and again less often while nothing comes of it. */
static struct Site {
    PyObject *code; /* not held: another one at its address is explored once more or less */
    int instruction;
    unsigned seen, next, explored;
} sites[SITES];

/* Before the first call, by settings. */
static struct {
    PyObject *settings;
    Step step;
} roots[ROOTS];

static int steps_count;
static size_t steps_generation; /* goes up whenever steps are forgotten */
static PyObject *blank;         /* marks a blank array in its place of the offset */

#define IS_BLANK(x) (SLOT(x, Array, _offset) == blank && !SLOT(x, Array, _storage))

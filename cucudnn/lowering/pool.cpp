// A pool of threads that claim pieces of work.
//
// Pieces are never dealt out: whoever is free takes the next one, so a thread that a busy
// neighbour holds up delays one piece and not a share of the whole. The caller works too, on its
// own job only, so callers that meet here cannot wait for each other.
//
// Nothing is ever destroyed (threads sleep here when the process ends), and nothing here needs
// the C++ library.

#include <atomic>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

typedef void Kernel(const int64_t* words, int64_t begin, int64_t end);

namespace {

const int64_t SPIN_NS = 20000;      // about what it costs to sleep and to be woken
const size_t STACK = 4 << 20;       // musl and macOS give threads little

struct Job {                        // lives on its caller's stack
  Kernel* kernel;
  const int64_t* words;
  int64_t count, grain;
  int64_t wanted;                   // helpers that could be of use
  std::atomic<int64_t> next;        // the first index that nobody has claimed
  std::atomic<int64_t> helpers;     // workers inside; changes under the mutex only
  Job* older;
};

struct Pool {
  pthread_mutex_t mutex;
  pthread_cond_t work, done;
  Job* newest;
  int64_t started, sleeping;
  std::atomic<int64_t> submissions;
};

Pool pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
             nullptr, 0, 0, {0}};
std::atomic<int64_t> threads{1};

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t(1000000000) + t.tv_nsec;
}

// Wait a moment for a value to change (`until` false) or to be reached (`until` true).
void spin(const std::atomic<int64_t>& variable, int64_t value, bool until) {
  const int64_t end = now_ns() + SPIN_NS;
  do {
    for (int i = 0; i < 32; ++i) {
      if ((variable.load(std::memory_order_acquire) == value) == until) return;
      relax();
    }
  } while (now_ns() < end);
}

bool open_to_helpers(const Job* job) {
  return job->helpers.load() < job->wanted && job->next.load() < job->count;
}

void claim_pieces(Job* job) {
  for (;;) {
    const int64_t begin = job->next.fetch_add(job->grain);
    if (begin >= job->count) return;
    const int64_t left = job->count - begin;
    job->kernel(job->words, begin, left < job->grain ? job->count : begin + job->grain);
  }
}

// Everybody who wakes up wakes two more: a hundred threads are up after seven steps.
void wake(const Job* job) {
  if (!open_to_helpers(job)) return;
  for (int i = 0; i < 2 && i < pool.sleeping; ++i) pthread_cond_signal(&pool.work);
}

void* worker(void*) {
  pthread_mutex_lock(&pool.mutex);
  for (;;) {
    Job* job = pool.newest;
    while (job && !open_to_helpers(job)) job = job->older;
    if (job) {
      job->helpers.fetch_add(1);
      wake(job);
      pthread_mutex_unlock(&pool.mutex);
      claim_pieces(job);
      pthread_mutex_lock(&pool.mutex);
      // From here on the job may be gone.
      if (job->helpers.fetch_sub(1) == 1) pthread_cond_broadcast(&pool.done);
      continue;
    }
    const int64_t seen = pool.submissions.load();
    pthread_mutex_unlock(&pool.mutex);
    spin(pool.submissions, seen, false);
    pthread_mutex_lock(&pool.mutex);
    if (pool.submissions.load() == seen) {
      ++pool.sleeping;
      pthread_cond_wait(&pool.work, &pool.mutex);
      --pool.sleeping;
    }
  }
}

// Start the workers that are missing. Fewer than asked for is no failure: the caller works too.
void start_workers() {
  sigset_t all, before;
  sigfillset(&all);  // signals are for the threads of the interpreter
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK);
  for (pthread_t id; pool.started < threads.load() - 1; ++pool.started)
    if (pthread_create(&id, &attributes, worker, nullptr)) break;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void share(Kernel* kernel, const int64_t* words, int64_t count, int64_t grain, int64_t most) {
  const int64_t others = (count - 1) / grain;  // pieces but the caller's first
  Job job = {kernel, words, count, grain, others < most ? others : most, {0}, {0}, nullptr};
  pthread_mutex_lock(&pool.mutex);
  if (pool.started < most) start_workers();
  job.older = pool.newest;
  pool.newest = &job;
  pool.submissions.fetch_add(1);
  wake(&job);
  pthread_mutex_unlock(&pool.mutex);

  claim_pieces(&job);

  pthread_mutex_lock(&pool.mutex);
  Job** link = &pool.newest;
  while (*link != &job) link = &(*link)->older;
  *link = job.older;  // nobody joins any more
  pthread_mutex_unlock(&pool.mutex);
  spin(job.helpers, 0, true);
  if (job.helpers.load(std::memory_order_acquire) == 0) return;
  pthread_mutex_lock(&pool.mutex);
  while (job.helpers.load() != 0) pthread_cond_wait(&pool.done, &pool.mutex);
  pthread_mutex_unlock(&pool.mutex);
}

}  // namespace

// Run a kernel over [0, count): at once, or in pieces of `grain` by several threads.
EXPORT void cucudnn_run(Kernel* kernel, const int64_t* words, int64_t count, int64_t grain) {
  const int64_t most = threads.load(std::memory_order_relaxed) - 1;
  if (count <= grain || most < 1) {
    if (count > 0) kernel(words, 0, count);
  } else {
    share(kernel, words, count, grain, most);
  }
}

EXPORT void cucudnn_set_threads(int64_t number) { threads.store(number); }

// In a forked child: the parent's workers are not here, its locks may be held for ever.
EXPORT void cucudnn_forked() {
  pool.mutex = PTHREAD_MUTEX_INITIALIZER;
  pool.work = pool.done = PTHREAD_COND_INITIALIZER;
  pool.newest = nullptr;
  pool.started = pool.sleeping = 0;
}

// Ctrl-C and progress inside a kernel that runs without the interpreter lock.
//
// A kernel makes a Progress before it releases the lock and calls tick(done) as often as it likes with the
// fraction of its work that is done. At most twenty times a second the Progress takes the lock, lets Python
// handle pending signals (an interrupt leaves the kernel as an exception, and nothing has been changed),
// and passes the fraction to the callback if there is one.
#pragma once
#include <chrono>
#include <nanobind/nanobind.h>

namespace shoal {

// None, or what is called now and then with the fraction of the work that is done, in [0, 1].
inline bool is_none_or_callable(PyObject* object) { return object == Py_None || PyCallable_Check(object); }

class Listener : public nanobind::object {
  NB_OBJECT_DEFAULT(Listener, nanobind::object, "collections.abc.Callable[[float], object]", is_none_or_callable)
};

class Progress {
 public:
  // Ctrl-C alone.
  Progress() : Progress(nanobind::handle(Py_None)) {}

  // The listener must outlive the Progress.
  explicit Progress(nanobind::handle callback) : callback_(callback), last_(Clock::now()) {}

  // For a step of well under a millisecond: looks at the clock now and then.
  void tick(double done) {
    if ((++calls_ & 63) == 0) look(done);
  }

  // For a step that may take long itself: looks at the clock each time.
  void look(double done) {
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    nanobind::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    if (!callback_.is_none()) callback_(done < 1.0 ? done : 1.0);
  }

 private:
  using Clock = std::chrono::steady_clock;
  nanobind::handle callback_;
  Clock::time_point last_;
  unsigned calls_ = 0;
};

}  // namespace shoal

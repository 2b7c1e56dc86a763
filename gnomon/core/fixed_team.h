#pragma once

namespace gnomon {

// While one lives, the calling thread's OpenMP loops have exactly thread_count() threads, also where OpenMP would choose
// fewer when the machine is busy (OMP_DYNAMIC): oneDNN's compiled products count on it. There is none without OpenMP.
class FixedTeam {
 public:
  FixedTeam();
  ~FixedTeam();
  FixedTeam(const FixedTeam&) = delete;
  FixedTeam& operator=(const FixedTeam&) = delete;

 private:
  const int threads_, dynamic_;
};

}  // namespace gnomon

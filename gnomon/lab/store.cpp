// The door to SQLite: no other file knows it.
#include "gnomon/lab/store.h"

#include <sqlite3.h>

#include <cmath>
#include <set>

#include "gnomon/core/error.h"

namespace gnomon {

struct Store::Impl {
  sqlite3* db = nullptr;
  std::string path;

  ~Impl() { sqlite3_close(db); }
  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    throw Error(Fault::resource, text(path, ": SQLite: ", db ? sqlite3_errmsg(db) : sqlite3_errstr(code)));
  }
  void run(const char* sql) const { check(sqlite3_exec(db, sql, nullptr, nullptr, nullptr)); }

  struct Binder {
    sqlite3_stmt* statement;
    int next = 1;
    void operator()(const std::string& x) {
      sqlite3_bind_text(statement, next++, x.c_str(), int(x.size()), SQLITE_TRANSIENT);
    }
    void operator()(std::int64_t x) { sqlite3_bind_int64(statement, next++, x); }
    void operator()(double x) {
      std::isfinite(x) ? sqlite3_bind_double(statement, next++, x) : sqlite3_bind_null(statement, next++);
    }
  };
  template <class... Values>
  void run(const char* sql, const Values&... values) const {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(db, sql, -1, &statement, nullptr));
    Binder bind{statement};
    (bind(values), ...);
    const int code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    check(code);
  }
  void forget(const std::string& key) const {
    run("DELETE FROM runs WHERE key = ?", key);
    run("DELETE FROM curves WHERE key = ?", key);
    run("DELETE FROM by_length WHERE key = ?", key);
    run("DELETE FROM by_position WHERE key = ?", key);
  }
};

Store::Store(const Path& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path.string();
  impl_->check(sqlite3_open(path.c_str(), &impl_->db));
  impl_->run(
      "CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, arm TEXT, seed INTEGER, failure TEXT, "
      "parameters INTEGER,"
      " flops_per_token REAL, nats REAL, tokens_per_second REAL, peak_memory_bytes INTEGER, weights_sha256 "
      "TEXT)");
  impl_->run(
      "CREATE TABLE IF NOT EXISTS curves (key TEXT, step INTEGER, training_nats REAL, held_out_nats REAL)");
  impl_->run("CREATE TABLE IF NOT EXISTS by_length (key TEXT, factor REAL, tokens INTEGER, nats REAL)");
  impl_->run("CREATE TABLE IF NOT EXISTS by_position (key TEXT, position INTEGER, nats REAL)");
}
Store::~Store() = default;

void Store::put(const RunResult& r) {
  impl_->run("BEGIN");
  impl_->forget(r.plan.key);
  impl_->run("INSERT INTO runs VALUES (?,?,?,?,?,?,?,?,?,?)", r.plan.key, r.plan.arm, r.plan.seed, r.failure,
             r.parameters, r.flops_per_token, r.failure.empty() ? r.nats : std::nan(""),
             r.cost.tokens_per_second, r.cost.peak_memory_bytes, r.weights_sha256);
  for (const auto& p : r.curve)
    impl_->run("INSERT INTO curves VALUES (?,?,?,?)", r.plan.key, p.step, p.training, p.held_out);
  for (const auto& l : r.by_length)
    impl_->run("INSERT INTO by_length VALUES (?,?,?,?)", r.plan.key, l.factor, l.tokens,
               l.nats.value_or(std::nan("")));
  for (std::size_t t = 0; t < r.by_position.size(); ++t)
    impl_->run("INSERT INTO by_position VALUES (?,?,?)", r.plan.key, std::int64_t(t), r.by_position[t]);
  impl_->run("COMMIT");
}

void Store::keep_only(std::span<const RunPlan> plan) {
  std::set<std::string> keep, stale;
  for (const auto& p : plan) keep.insert(p.key);
  sqlite3_stmt* statement = nullptr;
  impl_->check(sqlite3_prepare_v2(impl_->db, "SELECT key FROM runs", -1, &statement, nullptr));
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const std::string key = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    if (!keep.count(key)) stale.insert(key);
  }
  sqlite3_finalize(statement);
  impl_->run("BEGIN");
  for (const auto& key : stale) impl_->forget(key);
  impl_->run("COMMIT");
}

}  // namespace gnomon

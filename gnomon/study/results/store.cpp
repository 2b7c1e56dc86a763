// The door to SQLite: no other file knows it.
#include "gnomon/study/results/store.h"

#include <sqlite3.h>

#include <cmath>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

constexpr int kSchema = 2;       // PRAGMA user_version; another number is another schema
constexpr int kPatience = 2000;  // milliseconds that a lock of another program is waited for
constexpr const char* kTables[] = {
    "CREATE TABLE runs (key TEXT PRIMARY KEY, arm TEXT, seed INTEGER, steps INTEGER, learning_rate REAL, "
    "failure TEXT, parameters INTEGER,"
    " flops_per_token REAL, nats REAL, tokens_per_second REAL, peak_memory_bytes INTEGER, weights_sha256 "
    "TEXT)",
    "CREATE TABLE curves (key TEXT, step INTEGER, training_nats REAL, held_out_nats REAL)",
    "CREATE TABLE by_length (key TEXT, factor REAL, tokens INTEGER, nats REAL)",
    "CREATE TABLE by_position (key TEXT, position INTEGER, nats REAL)"};

struct Refused {
  int code;
  std::string why;
};

class Database {
 public:
  // What is no file of its own (a link) goes: SQLite would write where it leads.
  explicit Database(const Path& path) {
    std::error_code none;
    if (std::filesystem::is_symlink(path, none)) std::filesystem::remove(path, none);
    const int code = sqlite3_open(path.c_str(), &db_);
    if (code != SQLITE_OK) {
      const Refused refused{code, db_ ? sqlite3_errmsg(db_) : sqlite3_errstr(code)};
      sqlite3_close(db_);
      throw refused;
    }
    sqlite3_busy_timeout(db_, kPatience);
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Begins a transaction on a file that has our tables, making them in an empty one.
  void begin() {
    run("BEGIN IMMEDIATE");
    const int schema = number("PRAGMA user_version");
    if (schema == kSchema) return;
    if (schema != 0 || number("SELECT count(*) FROM sqlite_schema") != 0)
      throw Refused{SQLITE_NOTADB, "another schema"};
    for (const char* table : kTables) run(table);
    run(text("PRAGMA user_version = ", kSchema).c_str());
  }
  void forget_all() {
    for (const char* sql :
         {"DELETE FROM runs", "DELETE FROM curves", "DELETE FROM by_length", "DELETE FROM by_position"})
      run(sql);
  }
  void put(const RunResult& r) {
    const std::string& key = r.plan.key;
    run("DELETE FROM runs WHERE key = ?", key);
    run("DELETE FROM curves WHERE key = ?", key);
    run("DELETE FROM by_length WHERE key = ?", key);
    run("DELETE FROM by_position WHERE key = ?", key);
    run("INSERT INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", key, r.plan.arm, r.plan.seed, r.plan.steps,
        r.plan.learning_rate, r.failure, r.parameters, r.flops_per_token,
        r.failure.empty() ? r.nats : std::nan(""), r.cost.tokens_per_second, r.cost.peak_memory_bytes,
        r.weights_sha256);
    for (const auto& p : r.curve)
      run("INSERT INTO curves VALUES (?,?,?,?)", key, p.step, p.training, p.held_out);
    for (const auto& l : r.by_length)
      run("INSERT INTO by_length VALUES (?,?,?,?)", key, l.factor, l.tokens, l.nats.value_or(std::nan("")));
    for (std::size_t t = 0; t < r.by_position.size(); ++t)
      run("INSERT INTO by_position VALUES (?,?,?)", key, std::int64_t(t), r.by_position[t]);
  }
  void commit() { run("COMMIT"); }

 private:
  void check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
      throw Refused{code, sqlite3_errmsg(db_)};
  }
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
    check(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr));
    [[maybe_unused]] Binder bind{statement};
    (bind(values), ...);
    const int code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    check(code);
  }
  int number(const char* sql) const {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr));
    const int code = sqlite3_step(statement);
    const int found = code == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    sqlite3_finalize(statement);
    check(code);
    return found;
  }

  sqlite3* db_ = nullptr;
};

// With a file that cannot be ours, once more without it.
template <class Change>
std::optional<std::string> change(const Path& path, const Change& f) {
  for (int attempt = 0;; ++attempt) {
    try {
      Database database(path);
      database.begin();
      f(database);
      database.commit();
      return std::nullopt;
    } catch (const Refused& refused) {
      const int code = refused.code & 0xff;  // the kind of an extended code
      const bool not_ours = code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR ||
                            code == SQLITE_MISMATCH || code == SQLITE_CONSTRAINT;
      if (!not_ours || attempt > 0)
        return text(path.string(), " is not up to date (SQLite: ", refused.why,
                    "); the results do not need it, and the next command rebuilds it");
    }
    std::error_code ignored;
    for (const char* part : {"", "-journal", "-wal", "-shm"})
      std::filesystem::remove(path.string() + part, ignored);
  }
}

}  // namespace

std::optional<std::string> write_store(const Path& path, std::span<const RunResult> results) {
  return change(path, [&](Database& database) {
    database.forget_all();
    for (const RunResult& r : results) database.put(r);
  });
}

std::optional<std::string> put_in_store(const Path& path, const RunResult& result) {
  return change(path, [&](Database& database) { database.put(result); });
}

}  // namespace gnomon

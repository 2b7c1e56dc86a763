#include "gnomon/download/store.h"

#include <memory>

#include "gnomon/core/error.h"
#include "gnomon/core/new_file.h"
#include "gnomon/core/text.h"
#include "gnomon/files/hash.h"

namespace gnomon {
namespace {

namespace fs = std::filesystem;

constexpr int kPatienceMs = 300'000;  // with another process that fetches the same file

// The digest that the Hub names a file by: SHA-256 of a large file, of others what git names a blob by, SHA-1 of "blob SIZE", a NUL
// and the bytes.
RunningHash hash_of(const HubFile& file) {
  if (file.digest.size() == 64) return RunningHash(RunningHash::Kind::sha256);
  RunningHash hash(RunningHash::Kind::sha1);
  hash.add(text("blob ", file.size, '\0'));
  return hash;
}

// A blob that arrives.
struct Arriving {
  HubFile file;
  FileLock lock;
  NewFile blob;
  RunningHash hash;
  std::uint64_t bytes = 0;
};

}  // namespace

void replace_link(const Path& target, const Path& link) {
  make_folders(link.parent_path());
  std::error_code error;
  if (fs::is_symlink(link, error) && fs::read_symlink(link, error) == target) return;
  const Path temporary = link.string() + ".partial";
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, link, error);
  if (error) throw Error(Fault::resource, text(link.string(), ": cannot create the link: ", error.message()));
}

HubStore::HubStore(const Path& cache, const HubName& name, const std::string& commit)
    : name_(name), at_commit_(name), cache_(cache), repo_(hub_repo_folder(cache, name.repo)) {
  at_commit_.revision = commit;
  snapshot_ = repo_ / "snapshots" / commit;
}

std::optional<Path> HubStore::find(const std::string& file) const {
  std::error_code none;
  return fs::is_regular_file(snapshot_ / file, none) ? std::optional(snapshot_ / file) : std::nullopt;
}

void HubStore::link(const std::string& file, const std::string& digest) const {
  Path up = "../..";
  for (const char c : file) up = c == '/' ? up / ".." : up;
  replace_link(up / "blobs" / digest, snapshot_ / file);
}

std::uint64_t HubStore::fetch(HubServer& server, const std::string& file, std::uint64_t most) {
  if (find(file)) return 0;
  const std::string where = text(name_.repo, "/", file);
  std::unique_ptr<Arriving> arriving;
  std::string digest;
  const auto begins = [&](const HubFile& found) {
    digest = found.digest;
    const Path blobs = repo_ / "blobs", locks = cache_ / ".locks" / repo_.filename();
    std::error_code none;
    if (fs::exists(blobs / digest, none)) return false;  // of another name or commit
    if (digest.size() == 40 && found.size == 0)
      throw Error(Fault::input, text(where, ": the server does not say its size"));
    make_folders(blobs), make_folders(locks);
    arriving.reset(new Arriving{found, FileLock(locks / (digest + ".lock"), where, kPatienceMs),
                                NewFile(blobs / digest), hash_of(found)});
    return true;
  };
  server.fetch(at_commit_, file, most, begins, [&](std::string_view bytes) {
    arriving->blob.write(bytes), arriving->hash.add(bytes);
    arriving->bytes += bytes.size();
  });
  if (arriving) {
    const std::string found = arriving->hash.hex();
    if (found != digest)
      throw Error(Fault::input, text(where, ": the bytes that came have the digest ", found,
                                     "; the server announced ", digest, ". Nothing was kept."));
    arriving->blob.keep();
  }
  link(file, digest);
  return arriving ? arriving->bytes : 0;
}

void HubStore::keep_revision() {
  if (name_.revision == at_commit_.revision) return;
  const Path ref = repo_ / "refs" / name_.revision;
  std::error_code none;
  if (fs::is_regular_file(ref, none) && read_file(ref) == at_commit_.revision) return;
  make_folders(ref.parent_path());
  write_file(ref, at_commit_.revision);
}

}  // namespace gnomon

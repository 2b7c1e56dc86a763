#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "gnomon/download/server.h"
#include "gnomon/hub/cache.h"

namespace gnomon {

// Files of a repository at one commit, written into a cache as huggingface_hub writes it (file_download.py,
// `_hf_hub_download_to_cache_dir`): blobs/DIGEST has the bytes, snapshots/COMMIT/FILE is a link to them, and refs/REVISION names the
// commit. Only whole files whose bytes have the digest are kept. Other processes, also those of huggingface_hub, see a file whole or
// not at all.
class HubStore {
 public:
  // `name` has the revision that was asked for.
  HubStore(const Path& cache, const HubName& name, const std::string& commit);

  const Path& snapshot() const { return snapshot_; }
  std::optional<Path> find(const std::string& file) const;
  // Fetches a file unless it is there. Returns the number of bytes that came. Throws Error(input) if the digest is another than the
  // server announced, Error(busy) if another process has fetched the same file for minutes.
  std::uint64_t fetch(HubServer& server, const std::string& file, std::uint64_t most);
  // Keeps what the revision that was asked for means. To be called when a snapshot is there.
  void keep_revision();

 private:
  void link(const std::string& file, const std::string& digest) const;

  HubName name_, at_commit_;
  Path cache_, repo_, snapshot_;
};

// Makes `link` a symbolic link to `target`, whatever stood there before.
void replace_link(const Path& target, const Path& link);

}  // namespace gnomon

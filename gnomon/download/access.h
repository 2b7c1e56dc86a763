#pragma once
#include <string>

#include "gnomon/hub/places.h"

namespace gnomon {

// How the Hub is reached.
struct HubAccess {
  std::string endpoint;      // "https://huggingface.co", without a slash at its end
  std::string token;         // empty: none
  std::string certificates;  // a file of trusted certificates; empty: the system's
  int patience_s = 10;       // how long no byte may come
  bool offline = false;      // the user forbids requests
};

// From HF_ENDPOINT, HF_TOKEN, HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH, HF_HUB_DISABLE_IMPLICIT_TOKEN, HF_HUB_DOWNLOAD_TIMEOUT,
// HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE, as huggingface_hub 2.4 reads them (constants.py; utils/_auth.py, `get_token`), and
// CURL_CA_BUNDLE or SSL_CERT_FILE. Throws Error(usage) for a time that is no whole number of seconds.
HubAccess hub_access(const Environment& environment);

}  // namespace gnomon

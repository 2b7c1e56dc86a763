"""The pages that run gnomon, in Chromium: `make test-wasm`."""

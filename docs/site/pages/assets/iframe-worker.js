// From file:// a browser starts no worker: what search asks of one is done in a hidden frame, with a worker's functions.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame.contentWindow;
      this.frame.document.open();
      this.frame.document.write("<!doctype html><html><head></head><body></body></html>");
      this.frame.document.close();
      this.frame.postMessage = (data) => this.#tell("message", { data });
      this.frame.importScripts = (...addresses) =>
        addresses.reduce((before, next) => before.then(() => this.#load(next)), Promise.resolve());
      this.ready = this.#load(address);
    }
    #load(address) {
      return new Promise((loaded, failed) => {
        const script = this.frame.document.createElement("script");
        Object.assign(script, { src: address, onload: loaded, onerror: failed });
        this.frame.document.body.append(script);
      });
    }
    #tell(kind, what) {
      const event = new MessageEvent(kind, what);
      this.dispatchEvent(event);
      if (this[`on${kind}`]) this[`on${kind}`](event);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.frameElement.remove();
    }
  };
}

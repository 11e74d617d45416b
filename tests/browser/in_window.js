// Runs in every window before Streamlit's own scripts, and lets a test know when the page is at rest.
//
// Streamlit says "notRunning" from a click until its server's answer arrives. So the window reads along what goes over
// the web socket: <html> has the attribute data-asked from the moment the page asks for a run until that run has ended
// and what it sent is drawn.
(() => {
  // Fields of Streamlit's messages: BackMsg with its ClientState, ForwardMsg with its metadata.run; and what a run says
  // at its end when it was broken off for the next one.
  const RERUN = 11, FRAGMENT = 5, BY_ITSELF = 6;
  const METADATA = 2, RUN = 6, FRAGMENTS = 2, STARTED = 4, FINISHED = 6, BROKEN_OFF = 2;
  const WHOLE_PAGE = '';
  const awaited = new Set();  // what was asked for and has not begun: the page, or fragments of it
  let stage = 'quiet';  // asked → running → ended → quiet

  // The fields of a protobuf message: [number, value], where the value of what is no number is its bytes.
  function* fieldsOf(bytes) {
    let at = 0;
    const number = () => {
      let value = 0, scale = 1, byte;
      do { byte = bytes[at++]; value += (byte & 127) * scale; scale *= 128; } while (byte & 128);
      return value;
    };
    while (at < bytes.length) {
      const key = number(), value = number();
      const isNumber = key % 8 === 0;
      yield [Math.floor(key / 8), isNumber ? value : bytes.subarray(at, at + value)];
      if (!isNumber) at += value;
    }
  }

  const all = (message, wanted) => [...fieldsOf(message)].filter(([field]) => field === wanted).map(([, value]) => value);
  const within = (message, ...path) => path.reduce((found, field) => found.flatMap(each => all(each, field)), [message]);
  const text = bytes => new TextDecoder().decode(bytes);

  function enter(next) {
    stage = next;
    if (next === 'quiet') document.documentElement.removeAttribute('data-asked');
    else document.documentElement.setAttribute('data-asked', next);
  }

  function sent(message) {
    for (const asked of all(message, RERUN)) {
      if (all(asked, BY_ITSELF).includes(1)) continue;  // a fragment that runs every second answers nobody
      awaited.add(all(asked, FRAGMENT).map(text)[0] ?? WHOLE_PAGE);
      enter('asked');
    }
  }

  function received(message) {
    if (all(message, STARTED).length) {
      const fragments = within(message, METADATA, RUN, FRAGMENTS).map(text);
      if (fragments.length) fragments.forEach(each => awaited.delete(each));
      else awaited.clear();
      enter(awaited.size ? 'asked' : 'running');
    }
    if (all(message, FINISHED).some(status => status !== BROKEN_OFF) && stage === 'running') {
      enter('ended');
      const drawn = () => stage === 'ended' && enter('quiet');
      requestAnimationFrame(() => scheduler.postTask(drawn, {priority: 'background'}));  // after all that is to be drawn
    }
  }

  function forget() {
    awaited.clear();
    enter('quiet');
  }

  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (!this.isRead) {
      this.isRead = true;
      this.addEventListener('message', event => event.data instanceof ArrayBuffer && received(new Uint8Array(event.data)));
      this.addEventListener('close', forget);
    }
    if (typeof data !== 'string') sent(new Uint8Array(data));
    return send.call(this, data);
  };

  // Streamlit fades what it is about to draw anew; on a busy machine pictures and contrasts would be those of a fog.
  addEventListener('DOMContentLoaded', () => {
    const style = document.createElement('style');
    style.textContent = '[data-stale="true"] { opacity: 1 !important; transition: none !important; }';
    document.head.append(style);
  });
})();

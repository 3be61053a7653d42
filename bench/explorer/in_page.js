// Runs in both pages before their own scripts: notes when the page can first be used, and times what
// a selection takes until its frame is painted.
window.bench = {
  usableAt: null,
  /** Whether the selection that was made then showed in the next painted frame. */
  answered: null,
  /** Note the time of the first painted frame in which a condition holds, and select there and then. */
  watch({ isUsable, select, shows }) {
    const look = () => {
      if (!isUsable()) requestAnimationFrame(look);
      else
        window.bench.afterThisFrame(() => {
          window.bench.usableAt = performance.now();
          select();
          window.bench.painted().then(() => {
            window.bench.answered = Boolean(shows());
          });
        });
    };
    requestAnimationFrame(look);
  },
  /** Called while a frame is made: does something when it is painted. */
  afterThisFrame(done) {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done();
    channel.port2.postMessage(null);
  },
  /** Resolves after the next frame is painted. */
  painted() {
    return new Promise((done) => {
      requestAnimationFrame(() => window.bench.afterThisFrame(done));
    });
  },
  /** Milliseconds of each action until what it changed is painted. What an action is done to comes
   * into sight first, untimed: one selects what one sees. */
  async time(steps) {
    const times = [];
    for (const { before, act } of steps) {
      before();
      for (let frame = 0; frame < 3; frame++) await window.bench.painted();
      const start = performance.now();
      await act();
      await window.bench.painted();
      times.push(performance.now() - start);
    }
    return times;
  },
};

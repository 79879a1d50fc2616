// Runs in the page before its own scripts. Times are those of the page's clock, in milliseconds.
(() => {
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const rowAt = (index) => document.querySelector(`[role="row"][data-index="${index}"]`);
  const hasText = (row) => row !== null && row.textContent.trim() !== '';
  const countText = () => document.querySelector('h1 ~ [role="status"]');
  const count = () => countText()?.textContent ?? '';
  /** The rows are still those of the former list. */
  const isWaiting = () => document.querySelector('[role="grid"][aria-busy]') !== null;

  const LIMIT_MS = 20_000;

  /** When the frame in which it first holds has been painted. Throws after 20 s, naming what did not come. */
  async function painted(holds, what) {
    const limit = performance.now() + LIMIT_MS;
    while (!holds()) {
      if (performance.now() > limit) throw new Error(`not within 20 s: ${what}`);
      await nextFrame();
    }
    await nextFrame();
    const channel = new MessageChannel();
    const after = new Promise((resolve) => {
      channel.port1.onmessage = resolve;
    });
    channel.port2.postMessage('');
    await after;
    return performance.now();
  }

  const counted = () => painted(() => count() !== '', 'how many match');

  function nextEvent(type, isWanted) {
    return new Promise((resolve) => {
      const listen = (event) => {
        if (!isWanted(event)) return;
        document.removeEventListener(type, listen, true);
        resolve(event.timeStamp);
      };
      document.addEventListener(type, listen, true);
    });
  }

  /** From the click on Sign in to the rows, with the first row focused. */
  async function signIn() {
    const at = await nextEvent('click', ({ target }) => target.closest('[type="submit"]') !== null);
    const rows = await painted(() => hasText(rowAt(0)) && hasText(rowAt(1)), 'two rows');
    rowAt(0).focus();
    return { at, rows };
  }

  /** When the second row has become the current one. */
  const moved = () => painted(() => document.activeElement?.dataset?.index === '1', 'the next row');

  /** From the last event of this kind to the rows of another list of devices. */
  async function filtered(type) {
    const at = await nextEvent(type, () => true);
    const request = () =>
      performance
        .getEntriesByType('resource')
        .find(({ name, startTime }) => startTime >= at && name.includes('/api/v1/devices?'));
    const isOver = () => request() !== undefined && !isWaiting() && hasText(rowAt(0));
    const end = await painted(isOver, 'rows of another list');
    const asked = request();
    await counted();
    return { at, asked: asked.requestStart, answered: asked.responseEnd, end };
  }

  class Scrolling {
    frames = [];
    #isOver = false;

    constructor() {
      this.grid = document.querySelector('[role="grid"]');
      this.body = this.grid.querySelector('.table-body');
      this.row = this.body.firstElementChild.offsetHeight;
      this.head = this.grid.querySelector('.table-head').offsetHeight;
    }

    get loaded() {
      return Math.round(this.body.offsetHeight / this.row);
    }

    /** What this frame shows; scroll events have been handled before. */
    sample(at) {
      const { scrollTop, clientHeight, scrollHeight } = this.grid;
      const { loaded } = this;
      const filled = new Set();
      for (const row of this.body.children) {
        if (hasText(row)) filled.add(Number(row.dataset.index));
      }
      const first = Math.floor(scrollTop / this.row);
      const end = Math.ceil((scrollTop + clientHeight - this.head) / this.row);
      let blank = 0;
      for (let index = first; index < Math.min(end, loaded); index += 1) {
        if (!filled.has(index)) blank += 1;
      }
      const isAtEnd = scrollTop + clientHeight >= scrollHeight - 1;
      const isWaiting = isAtEnd && loaded + 1 < Number(this.grid.getAttribute('aria-rowcount'));
      this.frames.push({ at, top: first, blank, isWaiting });
    }

    async run(step) {
      while (!this.#isOver) {
        const at = await nextFrame();
        this.sample(at);
        step?.(this);
      }
    }

    stop() {
      this.#isOver = true;
      return this.frames;
    }
  }

  globalThis.bench = {
    signIn,
    moved,
    filtered,
    rows: () => painted(() => hasText(rowAt(0)), 'a row'),
    count,
    changed: (before) =>
      painted(() => count() !== '' && count() !== before, `another count than ${before}`),
    startScrolling() {
      globalThis.bench.scrolling = new Scrolling();
      void globalThis.bench.scrolling.run();
    },
    /** Like dragging the scroll bar: another place in each frame. */
    startJumping() {
      globalThis.bench.scrolling = new Scrolling();
      let seed = 1;
      void globalThis.bench.scrolling.run(({ grid }) => {
        seed = (seed * 48_271) % 2_147_483_647;
        grid.scrollTop = (seed / 2_147_483_647) * (grid.scrollHeight - 2 * grid.clientHeight);
      });
    },
    top: () => globalThis.bench.scrolling.frames.at(-1)?.top ?? 0,
    stopScrolling: () => globalThis.bench.scrolling.stop(),
  };
})();

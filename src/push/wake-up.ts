/** Lets one loop sleep until something happens; what happens while it is awake is not missed. */
export class WakeUp {
  #isCalled = false;
  #end: (() => void) | undefined;

  call(): void {
    this.#isCalled = true;
    this.#end?.();
  }

  /** Resolves at the next call, at once if there was one since the last sleep, else after `ms`. */
  async sleep(ms: number): Promise<void> {
    if (!this.#isCalled) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#end = undefined;
    this.#isCalled = false;
  }
}

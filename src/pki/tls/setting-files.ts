import { ConfigError } from '../../config/config.js';

/** Reads what settings name, part by part; what the parts throw becomes one ConfigError. */
export class SettingFiles {
  readonly #problems: string[] = [];

  /** @param settings as the problem will name them */
  attempt<T>(settings: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      const { message = String(error) } = error as Partial<Error>;
      this.#problems.push(`${settings}: ${message}`);
      return undefined;
    }
  }

  /** Throws when there was any problem. */
  finish(): void {
    if (this.#problems.length > 0) throw this.error();
  }

  error(): ConfigError {
    return new ConfigError(this.#problems);
  }
}

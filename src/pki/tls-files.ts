import { readFileSync, statSync } from 'node:fs';
import { identityOfFiles, type ServerIdentity } from './server-identity.js';

export interface TlsFilePaths {
  certFile: string;
  keyFile: string;
}

function stateOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? 'none' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}

/** A pair of files that somebody else replaces, as ACME clients do. */
export class TlsFiles {
  #seen = '';
  readonly #paths: TlsFilePaths;

  constructor(paths: TlsFilePaths) {
    this.#paths = paths;
  }

  /** Whether one of them is another than at the last reading, be it only half written. */
  haveChanged(): boolean {
    return this.#state() !== this.#seen;
  }

  /** Throws what is wrong with them. */
  read(): ServerIdentity {
    this.#seen = this.#state();
    const { certFile, keyFile } = this.#paths;
    return identityOfFiles(readFileSync(certFile), readFileSync(keyFile));
  }

  #state(): string {
    const { certFile, keyFile } = this.#paths;
    return `${stateOf(certFile)} ${stateOf(keyFile)}`;
  }
}

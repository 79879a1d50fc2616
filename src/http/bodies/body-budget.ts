import { AppError } from '../../errors.js';

/** Overhead in bytes of a part of a body: a Buffer, its ArrayBuffer, an entry in a list. */
const PART_COST = 512;

/** Fewer bytes do not count as progress, so that a trickle does not protect a body. */
const PROGRESS_BYTES = 16 * 1024;

/** Seconds after which a refused client should retry. */
const RETRY_AFTER = '30';

/** The sender whose bodies are counted together, and how many bytes of them may be in memory. */
export interface BodyShare {
  readonly key: string;
  readonly bytes: number;
}

export interface BodyBudgetOptions {
  /** Bytes of all bodies together. */
  bytes: number;
  /** A body of which less than 16 KiB arrived in this time may be refused in favour of others. */
  silentMs: number;
  /** Called for each refusal: the share that was used up, or undefined for the whole budget. */
  onRefusal: (share: BodyShare | undefined) => void;
}

interface Source {
  readonly share: BodyShare;
  bytes: number;
  readonly bodies: Set<OpenBody>;
}

/** A body that has begun to arrive. */
interface OpenBody {
  readonly source: Source;
  bytes: number;
  /** Bytes since `progressAt`. */
  recent: number;
  /** When it last had 16 KiB more. */
  progressAt: number;
  readonly refuse: (error: AppError) => void;
}

/** The count of one body, until it is released. */
export interface BodyCount {
  /** Counts a part that arrived. Returns AppError 503 if it exceeds the limit. */
  add(bytes: number): AppError | undefined;
  release(): void;
}

/**
 * Limits the bytes of unfinished bodies in memory, in total and by sender. At the limit, bodies without
 * progress are refused, those longest without it first; if there are none, the growing body is
 * refused. So connections that hold their bodies back, or send them in a trickle, block no others.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  readonly #sources = new Map<string, Source>();
  /** Ordered by their last progress, as are those of each source. */
  readonly #bodies = new Set<OpenBody>();
  #bytes = 0;

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  /** Bytes in memory now, with the overhead of their parts. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `refuse` ends the body when another one needs its space; it must call `release`. */
  open(share: BodyShare, refuse: (error: AppError) => void): BodyCount {
    const source = this.#sources.get(share.key) ?? { share, bytes: 0, bodies: new Set() };
    this.#sources.set(share.key, source);
    const progressAt = performance.now();
    const body: OpenBody = { source, bytes: 0, recent: 0, progressAt, refuse };
    return { add: (bytes) => this.#add(body, bytes), release: () => this.#release(body) };
  }

  #add(body: OpenBody, bytes: number): AppError | undefined {
    const { source } = body;
    this.#grow(body, bytes + PART_COST);
    this.#noteProgress(body, bytes);
    const hasShare = () => source.bytes <= source.share.bytes;
    if (!this.#makeRoom(source.bodies, hasShare, source.share)) return this.#refusal(source.share);
    const hasRoom = () => this.#bytes <= this.#options.bytes;
    return this.#makeRoom(this.#bodies, hasRoom) ? undefined : this.#refusal();
  }

  #noteProgress(body: OpenBody, bytes: number): void {
    body.recent += bytes;
    const isProgress = body.recent >= PROGRESS_BYTES;
    if (isProgress) {
      body.recent = 0;
      body.progressAt = performance.now();
    }
    for (const bodies of [this.#bodies, body.source.bodies]) {
      if (isProgress) bodies.delete(body);
      bodies.add(body);
    }
  }

  #makeRoom(bodies: Set<OpenBody>, isEnough: () => boolean, share?: BodyShare): boolean {
    const silentSince = performance.now() - this.#options.silentMs;
    for (const body of bodies) {
      if (isEnough() || body.progressAt > silentSince) break;
      body.refuse(this.#refusal(share));
    }
    return isEnough();
  }

  #grow(body: OpenBody, bytes: number): void {
    body.bytes += bytes;
    body.source.bytes += bytes;
    this.#bytes += bytes;
  }

  #release(body: OpenBody): void {
    const { source } = body;
    this.#grow(body, -body.bytes);
    this.#bodies.delete(body);
    source.bodies.delete(body);
    if (source.bodies.size === 0) this.#sources.delete(source.share.key);
  }

  #refusal(share?: BodyShare): AppError {
    this.#options.onRefusal(share);
    return new AppError('server_busy', 503, 'too many request bodies at once; try again later', {
      headers: { 'Retry-After': RETRY_AFTER },
    });
  }
}

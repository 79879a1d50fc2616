import { z } from 'zod';

/**
 * The messages between the primary and its workers, over a channel that only they have. What a message
 * carries for others is checked by them.
 */

/** A failed attempt that another process has counted; -1 undoes it. */
const FAILURE = z.object({
  kind: z.literal('failure'),
  limit: z.string(),
  key: z.string(),
  count: z.union([z.literal(1), z.literal(-1)]),
});

/** The metrics of a process, or of several. */
const METRICS = z.object({
  kind: z.literal('metrics'),
  request: z.int(),
  parts: z.array(z.array(z.record(z.string(), z.unknown()))),
});
const METRICS_WANTED = z.object({ kind: z.literal('metrics_wanted'), request: z.int() });

const FROM_WORKER = z.discriminatedUnion('kind', [
  /** It runs, and waits for `start`. */
  z.object({ kind: z.literal('ready') }),
  z.object({
    kind: z.literal('serving'),
    address: z.string(),
    port: z.int(),
    family: z.string(),
  }),
  /** The worker cannot serve, and exits. */
  z.object({ kind: z.literal('failed'), message: z.string() }),
  FAILURE,
  METRICS,
  METRICS_WANTED,
]);

const FROM_PRIMARY = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('start'),
    /** From 1 on; its successor has the same. */
    number: z.int(),
    /** What it serves with. */
    settings: z.unknown(),
  }),
  z.object({ kind: z.literal('stop') }),
  FAILURE,
  METRICS,
  METRICS_WANTED,
]);

export type FromWorker = z.infer<typeof FROM_WORKER>;
export type FromPrimary = z.infer<typeof FROM_PRIMARY>;
export type Failure = z.infer<typeof FAILURE>;
/** The metrics of one process, as prom-client writes them. */
export type MetricsPart = z.infer<typeof METRICS>['parts'][number];

/** undefined: not a message of Muster. Node.js sends its own messages over the same channel. */
export function readFromWorker(message: unknown): FromWorker | undefined {
  return FROM_WORKER.safeParse(message).data;
}

/** undefined: not a message of Muster. */
export function readFromPrimary(message: unknown): FromPrimary | undefined {
  return FROM_PRIMARY.safeParse(message).data;
}

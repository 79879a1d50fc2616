import { z } from 'zod';
import { FORMAT } from './backup-header.js';

const ABOUT = z.object({
  format: z.int().min(1).max(FORMAT),
  muster_version: z.string().max(100),
  /** ISO 8601. */
  created_at: z.iso.datetime(),
  /** As `show server_version` has it. */
  postgres_version: z.string().max(200),
  /** Applied when the backup was made, in their order. */
  migrations: z.array(z.string().max(200)).min(1).max(10_000),
  /** What the secrets are sealed under; null when there are none yet. */
  master_key: z
    .object({
      /** Its name, as `muster keys status` shows it; null when it was not at hand. */
      id: z.string().max(64).nullable(),
      /** Sealed bytes in base64 that only the right key opens. */
      check: z.string().max(1000),
    })
    .nullable(),
});

const TABLE = z.object({
  name: z.string().min(1).max(200),
  columns: z.array(z.string().min(1).max(200)).min(1).max(2000),
  /** Format of COPY; files of format 1 lack it and are always text. */
  row_format: z.enum(['text', 'binary']).default('text'),
});

const TOTALS = z.object({
  rows: z.int().min(0),
  /** Size of the rows as COPY writes them. */
  bytes: z.int().min(0),
  /** SHA-256 of the same bytes, hexadecimal. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const SEQUENCE = z.object({ name: z.string().min(1).max(200), last_value: z.int() });

const MANIFEST = ABOUT.extend({
  tables: z.array(TABLE.extend(TOTALS.shape)).max(10_000),
  sequences: z.array(SEQUENCE).max(10_000),
});

/** What a backup is of; its first frame. */
export type About = z.infer<typeof ABOUT>;
export type TableStart = z.infer<typeof TABLE>;
export type TableTotals = z.infer<typeof TOTALS>;
/** What a backup contains; its last frame. */
export type Manifest = z.infer<typeof MANIFEST>;

const parser =
  <T>(schema: z.ZodType<T>) =>
  (content: Buffer): T =>
    schema.parse(JSON.parse(content.toString('utf8')));

// The content has passed its checksums, so a failure is that of the program that wrote it.
export const parseAbout = parser(ABOUT);
export const parseTable = parser(TABLE);
export const parseTotals = parser(TOTALS);
export const parseManifest = parser(MANIFEST);

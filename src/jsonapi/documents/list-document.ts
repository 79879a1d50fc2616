import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Answer } from '../handler.js';
import type { Row } from '../store.js';
import type { Document, SerializeOptions } from './document.js';
import type { UnserializedRow } from './included.js';
import { resourceText } from './resource-text.js';
import { entityTagOf } from './send.js';

/** How long one document may block the event loop at a time. */
const SLICE_MS = 5;
const CHUNK_CHARACTERS = 64 * 1024;

export interface ListContent {
  rows: Row[];
  options: SerializeOptions;
  /** undefined: the document has no `included`. */
  included: UnserializedRow[] | undefined;
  /** The members after the resources. */
  rest: Pick<Document, 'links' | 'meta' | 'jsonapi'>;
}

/** The document as bytes with its entity tag, written in slices between other requests. */
export async function writeList(content: ListContent): Promise<Pick<Answer, 'chunks' | 'etag'>> {
  const { rows, options, included, rest } = content;
  const writer = new SlicedWriter();
  writer.add('{"data":[');
  await writer.addResources(rows.map((row) => ({ row, options })));
  writer.add(']');
  if (included) {
    writer.add(',"included":[');
    await writer.addResources(included);
    writer.add(']');
  }
  writer.add(`,${JSON.stringify(rest).slice(1)}`);
  return writer.finish();
}

class SlicedWriter {
  private text = '';
  private readonly chunks: Buffer[] = [];
  private readonly hash = createHash('sha256');
  private sliceStartedAt = performance.now();

  add(text: string): void {
    this.text += text;
    if (this.text.length >= CHUNK_CHARACTERS) this.flush();
  }

  async addResources(resources: UnserializedRow[]): Promise<void> {
    let separator = '';
    for (const { row, options } of resources) {
      this.add(separator + resourceText(row, options));
      separator = ',';
      if (performance.now() - this.sliceStartedAt < SLICE_MS) continue;
      await nextTurn();
      this.sliceStartedAt = performance.now();
    }
  }

  finish(): Required<Pick<Answer, 'chunks' | 'etag'>> {
    this.flush();
    return { chunks: this.chunks, etag: entityTagOf(this.hash.digest()) };
  }

  private flush(): void {
    const chunk = bytesOf(this.text);
    this.text = '';
    this.chunks.push(chunk);
    this.hash.update(chunk);
  }
}

const encoder = new TextEncoder();

/** UTF-8. Most documents are ASCII, which is known only at the end: a third faster than to measure first. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.allocUnsafe(text.length);
  const { read } = encoder.encodeInto(text, bytes);
  return read === text.length ? bytes : Buffer.from(text);
}

import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Answer } from '../handler.js';
import type { Row } from '../store.js';
import type { Document, SerializeOptions } from './document.js';
import type { UnserializedRow } from './included.js';
import { writeResource } from './resource-text.js';
import { entityTagOf } from './send.js';
import { Utf8Writer } from './utf8-writer.js';

/** How long one document may block the event loop at a time. */
const SLICE_MS = 5;

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
  private readonly chunks: Buffer[] = [];
  private readonly hash = createHash('sha256');
  private readonly out = new Utf8Writer((chunk) => {
    this.chunks.push(chunk);
    this.hash.update(chunk);
  });
  private sliceStartedAt = performance.now();

  add(text: string): void {
    this.out.text(text);
  }

  async addResources(resources: UnserializedRow[]): Promise<void> {
    let separator = '';
    for (const { row, options } of resources) {
      this.add(separator);
      writeResource(this.out, row, options);
      separator = ',';
      if (performance.now() - this.sliceStartedAt < SLICE_MS) continue;
      await nextTurn();
      this.sliceStartedAt = performance.now();
    }
  }

  finish(): Required<Pick<Answer, 'chunks' | 'etag'>> {
    this.out.finish();
    return { chunks: this.chunks, etag: entityTagOf(this.hash.digest()) };
  }
}

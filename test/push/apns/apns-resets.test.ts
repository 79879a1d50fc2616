import { constants } from 'node:http2';
import { ApnsResets } from '../../../src/push/apns/apns-resets.js';

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;
const { NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

/** How many in a row are too much. */
function mostOf(codes: number[]): number {
  const resets = new ApnsResets();
  for (let count = 1; count <= 100; count += 1) {
    if (resets.add(codes[(count - 1) % codes.length] ?? 0)) return count;
  }
  return Number.POSITIVE_INFINITY;
}

describe('requests that are reset', () => {
  it.each([
    ['ENHANCE_YOUR_CALM', [NGHTTP2_ENHANCE_YOUR_CALM], 1],
    ['INTERNAL_ERROR', [NGHTTP2_INTERNAL_ERROR], 2],
    ['two codes', [NGHTTP2_PROTOCOL_ERROR, NGHTTP2_INTERNAL_ERROR], 2],
    ['a code that no RFC knows', [4711], 2],
    ['CANCEL', [NGHTTP2_CANCEL], 10],
    ['REFUSED_STREAM', [NGHTTP2_REFUSED_STREAM], 10],
    ['CANCEL and INTERNAL_ERROR', [NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR], 4],
  ])('by %s', (_, codes, most) => {
    expect(mostOf(codes)).toBe(most);
  });

  it('count from the last answer', () => {
    const resets = new ApnsResets();
    for (let round = 0; round < 50; round += 1) {
      expect(resets.add(NGHTTP2_INTERNAL_ERROR)).toBe(false);
      resets.clear();
    }
    resets.add(NGHTTP2_INTERNAL_ERROR);
    expect(resets.add(NGHTTP2_INTERNAL_ERROR)).toBe(true);
  });
});

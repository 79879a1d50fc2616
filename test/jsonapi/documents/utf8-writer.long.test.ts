import { Utf8Writer } from '../../../src/jsonapi/documents/utf8-writer.js';

const TEXTS = [
  '',
  'a',
  'ä',
  '😀',
  '"quoted" \\ \n\t\u0000\u001f\u007f\u2028 </script>',
  'a'.repeat(48),
  'a'.repeat(49),
  'ä'.repeat(48),
  '"'.repeat(100),
  '😀'.repeat(10_000),
  'a'.repeat(70_000),
];

function written(write: (out: Utf8Writer) => void): { text: string; sizes: number[] } {
  const chunks: Buffer[] = [];
  const out = new Utf8Writer((chunk) => chunks.push(chunk));
  write(out);
  out.finish();
  return { text: Buffer.concat(chunks).toString(), sizes: chunks.map(({ length }) => length) };
}

describe('Utf8Writer', () => {
  it.each(TEXTS)('writes text as it is, wherever a chunk ends', (text) => {
    for (const times of [1, 3, 2000]) {
      const all = written((out) => {
        for (let count = 0; count < times; count += 1) out.text(text);
      });
      expect(all.text === text.repeat(times)).toBe(true);
      if (text.length > 60_000) break;
    }
  });

  it.each([...TEXTS, '\ud800'])('writes a string of JSON as JSON.stringify does', (text) => {
    const all = written((out) => {
      for (let count = 0; count < 2000; count += 1) out.json(text);
    });
    expect(all.text === JSON.stringify(text).repeat(2000)).toBe(true);
  });

  it('writes prepared bytes of every length, in their order', () => {
    const parts = [0, 1, 24, 25, 16_384, 65_536, 65_537, 200_000, 3].map((length) =>
      'x'.repeat(length),
    );
    const all = written((out) => {
      for (const part of parts) {
        out.bytes(Buffer.from(part));
        out.text('|');
      }
    });
    expect(all.text === `${parts.join('|')}|`).toBe(true);
  });

  it('writes a part of a text, and nothing of one that is not ASCII', () => {
    const all = written((out) => {
      expect(out.ascii('2026-11-25 10:00', 0, 10)).toBe(true);
      expect(out.ascii('xä', 0, 2)).toBe(false);
      out.text('T');
      expect(out.ascii('2026-11-25 10:00', 11, 16)).toBe(true);
    });
    expect(all.text).toBe('2026-11-25T10:00');
  });

  it('passes on chunks of at most 64 KiB, and none without bytes', () => {
    expect(written(() => undefined).sizes).toEqual([]);
    const { sizes } = written((out) => {
      for (let count = 0; count < 10_000; count += 1) out.text('0123456789abcdef');
    });
    expect(sizes).toEqual([16_384, 65_536, 65_536, 12_544]);
  });
});

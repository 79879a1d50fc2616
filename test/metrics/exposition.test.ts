import { parseExposition } from './exposition.js';

const HEAD = '# HELP a Some.\n# TYPE a gauge\n';

describe('the reader of these tests', () => {
  it.each([
    ['no end of the last line', `${HEAD}a 1`],
    ['a sample without a family', 'a 1\n'],
    ['a sample of another family', `${HEAD}b 1\n`],
    ['a type without help', '# TYPE a gauge\na 1\n'],
    ['help without a type', '# HELP a Some.\n'],
    ['an unknown type', '# HELP a Some.\n# TYPE a number\n'],
    ['a family twice', `${HEAD}${HEAD}`],
    ['no value', `${HEAD}a\n`],
    ['a value that is no number', `${HEAD}a one\n`],
    ['a label without quotes', `${HEAD}a{b=c} 1\n`],
    ['a quote within a label', `${HEAD}a{b="c"d"} 1\n`],
    ['a comma too many', `${HEAD}a{b="c",} 1\n`],
    ['a label twice', `${HEAD}a{b="c",b="d"} 1\n`],
    ['a series twice', `${HEAD}a{b="c",d="e"} 1\na{d="e",b="c"} 2\n`],
    ['a counter below 0', '# HELP a Some.\n# TYPE a counter\na -1\n'],
    [
      'buckets that fall',
      '# HELP a Some.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\n',
    ],
    [
      'a count of its own',
      '# HELP a Some.\n# TYPE a histogram\na_bucket{le="+Inf"} 1\na_count 2\n',
    ],
  ])('refuses %s', (_what, text) => {
    expect(() => parseExposition(text)).toThrow();
  });

  it('reads labels with every escape, and every form of a value', () => {
    const text = `${HEAD}a{b="c\\"\\\\\\n,d",e=""} -1.5e-7\na +Inf\n`;
    expect(parseExposition(text).get('a')).toEqual({
      type: 'gauge',
      help: 'Some.',
      samples: [
        { name: 'a', labels: { b: 'c"\\\n,d', e: '' }, value: -1.5e-7 },
        { name: 'a', labels: {}, value: Number.POSITIVE_INFINITY },
      ],
    });
  });
});

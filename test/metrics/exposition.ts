/** A strict reader of the Prometheus text format 0.0.4. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  type: string;
  help: string;
  samples: Sample[];
}

const TYPES = ['counter', 'gauge', 'histogram', 'summary'];
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
const NUMBER = /^(?:[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN|Nan)$/;

/** Throws an Error with the first line that violates the format. */
export function parseExposition(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, Family>();
  const series = new Set<string>();
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue;
    if (line.startsWith('#')) {
      current = readComment(line, families);
      continue;
    }
    const sample = readSample(line);
    const family = families.get(current);
    if (family === undefined || !belongs(sample.name, current, family.type)) {
      throw new Error(`not a sample of ${current}: ${line}`);
    }
    const id = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
    if (series.has(id)) throw new Error(`twice: ${line}`);
    series.add(id);
    family.samples.push(sample);
  }
  for (const [name, family] of families) checkFamily(name, family);
  return families;
}

function readComment(line: string, families: Map<string, Family>): string {
  const [, kind = '', name = '', rest = ''] =
    /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? [];
  const family = families.get(name);
  if (kind === 'HELP') {
    if (family) throw new Error(`a second family ${name}`);
    families.set(name, { type: '', help: rest, samples: [] });
    return name;
  }
  if (kind !== 'TYPE' || family?.type !== '' || !TYPES.includes(rest)) throw new Error(line);
  family.type = rest;
  return name;
}

function readSample(line: string): Sample {
  const [, name, labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (name === undefined || !NUMBER.test(value)) throw new Error(`no sample: ${line}`);
  const number = Number(value.replace('Inf', 'Infinity'));
  return { name, labels: readLabels(labels, line), value: number };
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  let end = 0;
  while (end < text.length) {
    const [whole, name = '', value = '', comma] = LABEL.exec(text) ?? [];
    if (whole === undefined || Object.hasOwn(labels, name)) throw new Error(`labels: ${line}`);
    end += whole.length;
    if (comma === ',' && end === text.length) throw new Error(`a comma at the end: ${line}`);
    labels[name] = value.replace(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
  }
  return labels;
}

function belongs(name: string, family: string, type: string): boolean {
  if (type !== 'histogram') return name === family;
  return ['_bucket', '_sum', '_count'].some((suffix) => name === family + suffix);
}

function checkFamily(name: string, { type, samples }: Family): void {
  if (type === '') throw new Error(`${name} has no type`);
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(name);
  if (type === 'histogram') checkHistogram(name, samples);
}

/** Buckets rise, and the last of them counts everything. */
function checkHistogram(family: string, samples: Sample[]): void {
  const last = new Map<string, { le: number; value: number }>();
  for (const { name, labels, value } of samples) {
    const { le, ...others } = labels;
    const key = JSON.stringify(Object.entries(others).sort());
    const before = last.get(key) ?? { le: -1, value: 0 };
    if (name === `${family}_bucket`) {
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
      if (!(bound > before.le) || value < before.value) throw new Error(`${family} le=${le}`);
      last.set(key, { le: bound, value });
    } else if (name === `${family}_count` && (before.le !== Infinity || before.value !== value)) {
      throw new Error(`${family} counts ${value}`);
    }
  }
}

/** The values of one metric by those of its labels, in the order of their names. */
export function valuesOf(text: string, name: string): Record<string, number> {
  const all = [...parseExposition(text).values()].flatMap(({ samples }) => samples);
  const entries = all
    .filter((sample) => sample.name === name)
    .map(({ labels, value }) => {
      const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
      return [sorted.map(([, label]) => label).join(' '), value];
    });
  return Object.fromEntries(entries) as Record<string, number>;
}

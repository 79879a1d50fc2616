import type { ColumnTexts } from './column-texts.js';
import type { Projection } from './projection.js';

/** `,"name":` by name. The names are those of the definitions. */
const labels = new Map<string, Buffer>();

function labelOf(name: string): Buffer {
  const known = labels.get(name) ?? Buffer.from(`,"${name}":`);
  labels.set(name, known);
  return known;
}

/** What is the same in each row, for the attributes of a projection. */
export class AttributeBytes {
  /** `,"name":` of each. */
  readonly labels: readonly Buffer[];
  readonly columns: ColumnTexts | undefined;
  /** Index of the column with the value; -1 for a value that is computed. */
  readonly places: readonly number[];
  /** Most rows of a list have the same. */
  readonly #nulls = new Map<number, Buffer>();

  constructor(attributes: Projection['attributes'], columns: ColumnTexts | undefined) {
    this.labels = attributes.map(([name]) => labelOf(name));
    this.columns = columns;
    this.places = attributes.map(([name, { derivedFrom }]) =>
      derivedFrom ? -1 : (columns?.placeOf(name) ?? -1),
    );
  }

  /** `,"name":null` of the attributes from `first` to `last`. */
  nulls(first: number, last: number): Buffer {
    const key = first * this.labels.length + last;
    const known = this.#nulls.get(key);
    if (known !== undefined) return known;
    const texts = this.labels.slice(first, last + 1).map((label) => `${label}null`);
    const made = Buffer.from(texts.join(''));
    this.#nulls.set(key, made);
    return made;
  }
}

/** By the attributes of a projection, which those of equal documents share. */
const known = new WeakMap<Projection['attributes'], AttributeBytes>();

/** `columns` are those of the rows. */
export function attributeBytes(
  { attributes }: Projection,
  columns: ColumnTexts | undefined,
): AttributeBytes {
  const found = known.get(attributes);
  if (found !== undefined && found.columns === columns) return found;
  const made = new AttributeBytes(attributes, columns);
  known.set(attributes, made);
  return made;
}

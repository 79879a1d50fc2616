import { randomUUID } from 'node:crypto';
import type { Document, ResourceObject } from './document.js';

/** The value of an attribute that is JSON text already: megabytes that another thread has written. */
export class JsonText {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** Stands for a text meanwhile; nobody else knows it. */
const PLACE = `json ${randomUUID()}`;
const PLACES = new RegExp(`"${PLACE} (\\d+)"`, 'g');

/** `JSON.stringify(document)`, with each JsonText as it is. */
export function documentText(document: object): string {
  const texts: string[] = [];
  const copy = withPlaces(document as Document, texts);
  if (texts.length === 0) return JSON.stringify(document);
  return JSON.stringify(copy).replace(PLACES, (_place, at: string) => texts[Number(at)] ?? 'null');
}

function withPlaces(document: Document, texts: string[]): object {
  const { data, included } = document;
  const replace = (resource: unknown) => withPlacesIn(resource as ResourceObject, texts);
  return {
    ...document,
    data: Array.isArray(data) ? data.map(replace) : replace(data),
    ...(included && { included: included.map(replace) }),
  };
}

function withPlacesIn(resource: ResourceObject | null, texts: string[]): unknown {
  if (!resource?.attributes) return resource;
  const values = Object.entries(resource.attributes);
  if (!values.some(([, value]) => value instanceof JsonText)) return resource;
  const attributes = values.map(([name, value]) => {
    if (!(value instanceof JsonText)) return [name, value];
    return [name, `${PLACE} ${texts.push(value.text) - 1}`];
  });
  return { ...resource, attributes: Object.fromEntries(attributes) };
}

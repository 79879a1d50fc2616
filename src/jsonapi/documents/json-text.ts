import { randomUUID } from 'node:crypto';
import type { Document, ResourceObject } from './document.js';

/** An attribute's value that is JSON text already, written in another thread because of its size. */
export class JsonText {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** A random placeholder for a text, which no other value contains. */
const PLACEHOLDER = `json ${randomUUID()}`;
const PLACEHOLDERS = new RegExp(`"${PLACEHOLDER} (\\d+)"`, 'g');

/** `JSON.stringify(document)`, with each JsonText inserted verbatim. */
export function documentText(document: object): string {
  const texts: string[] = [];
  const copy = withPlaceholders(document as Document, texts);
  if (texts.length === 0) return JSON.stringify(document);
  return JSON.stringify(copy).replace(
    PLACEHOLDERS,
    (_place, at: string) => texts[Number(at)] ?? 'null',
  );
}

function withPlaceholders(document: Document, texts: string[]): object {
  const { data, included } = document;
  const replace = (resource: unknown) => withPlaceholdersIn(resource as ResourceObject, texts);
  return {
    ...document,
    data: Array.isArray(data) ? data.map(replace) : replace(data),
    included: included?.map(replace),
  };
}

function withPlaceholdersIn(resource: ResourceObject | null, texts: string[]): unknown {
  if (!resource?.attributes) return resource;
  const values = Object.entries(resource.attributes);
  if (!values.some(([, value]) => value instanceof JsonText)) return resource;
  const attributes = values.map(([name, value]) => {
    if (!(value instanceof JsonText)) return [name, value];
    return [name, `${PLACEHOLDER} ${texts.push(value.text) - 1}`];
  });
  return { ...resource, attributes: Object.fromEntries(attributes) };
}

import { AppError } from '../../errors.js';
import { invalidParameter } from '../query/parameters.js';
import type { Row } from '../store.js';
import type { SerializeOptions } from './document.js';
import { resourceText } from './resource-text.js';

/** Limits of one document, so that no request exhausts the memory. */
export const MAX_INCLUDED = 10_000;
export const MAX_INCLUDED_BYTES = 16 * 2 ** 20;

/** Rows of a type that are written to estimate the length of all. */
const SAMPLES = 20;

/** The resources that one step of a path in `include` leads to. */
export interface IncludedStep {
  count: number;
  /** The path of the same resources as pages. */
  address: string;
}

/** AppError 400 that names the address of the largest step. */
export function tooManyIncluded(steps: IncludedStep[]): AppError {
  return refusal(`this would include more than ${MAX_INCLUDED} resources`, steps);
}

/** The same for a query that was too expensive; other errors unchanged. */
export function notIncluded(error: unknown, steps: IncludedStep[]): unknown {
  if (!(error instanceof AppError) || error.code !== 'query_too_expensive') return error;
  const { code, status, message, cause } = error;
  const source = { parameter: 'include' };
  return new AppError(code, status, `${message}; ${remedy(steps)}`, { source, cause });
}

/** A type's resources in a document, and how to serialize them. */
export interface IncludedType {
  rows: Row[];
  options: SerializeOptions;
}

/** AppError 400 when the resources would make a document of more than 16 MB. */
export function assertIncludedFits(types: IncludedType[], steps: IncludedStep[]): void {
  const bytes = types.reduce((sum, type) => sum + estimatedBytes(type), 0);
  if (bytes <= MAX_INCLUDED_BYTES) return;
  const megabytes = MAX_INCLUDED_BYTES / 2 ** 20;
  throw refusal(`the included resources would take more than ${megabytes} MB`, steps);
}

function estimatedBytes({ rows, options }: IncludedType): number {
  const every = Math.ceil(rows.length / SAMPLES);
  let bytes = 0;
  for (let at = 0; at < rows.length; at += every) {
    bytes += resourceText(rows[at] as Row, options).length;
  }
  return bytes * every;
}

function refusal(what: string, steps: IncludedStep[]): AppError {
  return invalidParameter('include', `${what}; ${remedy(steps)}`);
}

function remedy(steps: IncludedStep[]): string {
  const [largest] = [...steps].sort((one, other) => other.count - one.count);
  const address = largest?.address ?? '';
  return `leave it out of include and read it page by page at ${address}?page[size]=100`;
}

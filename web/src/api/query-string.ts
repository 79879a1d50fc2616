export type QueryValue = string | number | boolean | undefined | readonly (string | number)[];
export type Query = Record<string, QueryValue | Record<string, QueryValue>>;

/** `page: {size: 5}` becomes page[size]=5; lists are separated by commas, those named `x[]` repeated. */
export function queryString(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (name.endsWith('[]') && Array.isArray(value)) {
      for (const entry of value) params.append(name, String(entry));
    } else if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      for (const [inner, part] of Object.entries(value)) add(params, `${name}[${inner}]`, part);
    } else {
      add(params, name, value as QueryValue);
    }
  }
  return params.toString();
}

function add(params: URLSearchParams, name: string, value: QueryValue): void {
  if (value === undefined) return;
  params.set(name, Array.isArray(value) ? value.join(',') : String(value));
}

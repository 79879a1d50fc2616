interface Resource {
  id?: unknown;
  attributes?: object;
}

type Attributes<R extends Resource> = NonNullable<R['attributes']>;
export type RowOf<R extends Resource> = Attributes<R> & { id: number };

/** A resource as one flat object. */
export function rowOf<R extends Resource>(resource: R): RowOf<R> {
  return { ...(resource.attributes as Attributes<R>), id: Number(resource.id) };
}

export function rowsOf<R extends Resource>(document: { data?: R[] }): RowOf<R>[] {
  return (document.data ?? []).map(rowOf);
}

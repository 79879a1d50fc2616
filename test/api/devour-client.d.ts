/** The package has no types of its own; this much of it is used here. */
declare module 'devour-client' {
  interface Item {
    id: number;
    [name: string]: unknown;
  }
  interface Answer<T> {
    data: T;
    meta: unknown;
  }
  interface Place {
    relationships(): Place;
    all(model: string): Place;
    destroy(payload: unknown): Promise<unknown>;
  }
  export default class JsonApi {
    constructor(options: Record<string, unknown>);
    define(model: string, attributes: Record<string, unknown>): void;
    find(model: string, id: number, params?: object): Promise<Answer<Item>>;
    findAll(model: string, params?: object): Promise<Answer<Item[]>>;
    create(model: string, payload: object): Promise<Answer<Item>>;
    update(model: string, payload: object): Promise<Answer<Item>>;
    destroy(model: string, id: number): Promise<unknown>;
    one(model: string, id: number): Place;
  }
}

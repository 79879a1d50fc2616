/** As many as the pages of a long list and what stands around them. */
const MOST = 60;

interface Known {
  etag: string;
  text: string;
  headers: Headers;
}

/**
 * What the API has answered to reads, by address, with its entity tag. The next read of that address asks
 * whether it has changed; where it has not, 304 carries no body and the known one is the answer.
 */
export class KnownAnswers {
  readonly #most: number;
  /** The oldest first. */
  #answers = new Map<string, Known>();
  /** What a request has named, even if it is forgotten before the answer arrives. */
  readonly #named = new WeakMap<Request, Known>();
  readonly #begun = new WeakMap<Request, Map<string, Known>>();

  constructor(most = MOST) {
    this.#most = most;
  }

  /** For another person. An answer that is still to come is not remembered either. */
  forget(): void {
    this.#answers = new Map();
  }

  onRequest({ request }: { request: Request }): undefined {
    if (request.method !== 'GET') return;
    this.#begun.set(request, this.#answers);
    const known = this.#answers.get(request.url);
    if (known === undefined) return;
    request.headers.set('If-None-Match', known.etag);
    this.#named.set(request, known);
  }

  async onResponse({ request, response }: Exchange): Promise<Response | undefined> {
    if (request.method !== 'GET') return;
    const known = response.status === 304 ? this.#named.get(request) : await read(response);
    if (known === undefined) return;
    this.#remember(request, known);
    return new Response(known.text, { status: 200, headers: known.headers });
  }

  #remember(request: Request, known: Known): void {
    const answers = this.#answers;
    if (this.#begun.get(request) !== answers) return;
    answers.delete(request.url);
    answers.set(request.url, known);
    for (const url of answers.keys()) {
      if (answers.size <= this.#most) return;
      answers.delete(url);
    }
  }
}

interface Exchange {
  request: Request;
  response: Response;
}

async function read(response: Response): Promise<Known | undefined> {
  const etag = response.headers.get('ETag');
  if (response.status !== 200 || etag === null) return;
  return { etag, text: await response.text(), headers: response.headers };
}

import { Agent, request } from 'node:http';

export interface ApiCall {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below /api/v1, with the leading slash and the query. */
  path: string;
  body?: unknown;
  /** In place of `body`: text as it is sent. */
  raw?: string;
  headers?: Record<string, string>;
}

export interface ApiReply {
  status: number;
  body: Buffer;
}

const MEDIA_TYPE = 'application/vnd.api+json';

/** Keep-alive connections with a bearer token; as many as there are calls at once. */
export class ApiClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  constructor(
    private readonly port: number,
    private readonly token: string,
  ) {}

  call({ method = 'GET', path, body, raw, headers = {} }: ApiCall): Promise<ApiReply> {
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const text = content === undefined ? undefined : Buffer.from(content);
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.port,
          agent: this.agent,
          method,
          path: `/api/v1${path}`,
          headers: {
            Authorization: `Bearer ${this.token}`,
            ...(text ? { 'Content-Type': MEDIA_TYPE, 'Content-Length': text.length } : {}),
            ...headers,
          },
        },
        (reply) => {
          const parts: Buffer[] = [];
          reply.on('data', (part: Buffer) => parts.push(part));
          reply.on('error', reject);
          reply.on('end', () => {
            resolve({ status: reply.statusCode ?? 0, body: Buffer.concat(parts) });
          });
        },
      );
      sent.on('error', reject);
      sent.end(text);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

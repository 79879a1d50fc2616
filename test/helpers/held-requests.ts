import { connect, type Socket } from 'node:net';

export interface HeldRequest {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  /** What Content-Length announces. */
  length: number;
  /** What is sent of the body before the request stops. */
  sent?: Buffer;
}

export interface Held {
  socket: Socket;
  /** Status line and headers of the answer. */
  head: Promise<string>;
  /** Its status. */
  answered: Promise<number>;
  /** Resolves when the server has closed the connection. */
  closed: Promise<void>;
}

function headOf({ path = '/mdm', method = 'PUT', headers = {}, length }: HeldRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const own = [`Host: localhost`, `Content-Length: ${length}`];
  return [`${method} ${path} HTTP/1.1`, ...own, ...lines, '\r\n'].join('\r\n');
}

/** Sends a request whose body never ends, and keeps the connection open. */
export function hold({ url }: { url: string }, request: HeldRequest): Held {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setEncoding('latin1');
  socket.on('error', () => undefined);
  const head = new Promise<string>((resolve) => {
    socket.once('data', (text: string) => resolve(text.split('\r\n\r\n', 1)[0] ?? ''));
  });
  const answered = head.then((text) => Number(text.split(' ')[1]));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(headOf(request));
  socket.write(request.sent ?? Buffer.alloc(0));
  return { socket, head, answered, closed };
}

/** Resolves with undefined when there is no answer within the time. */
export function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, ms, undefined));
  return Promise.race([promise, late]);
}

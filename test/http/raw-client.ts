import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A server on a free loopback port; close it with `stop`. */
export async function serve(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

export async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

export async function open(server: Server): Promise<Socket> {
  const socket = connect(portOf(server), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Everything the server says until it closes the connection. */
export async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    text += chunk;
  });
  // A reset ends it, too: what was on its way to the server is lost then.
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

/** Sends exactly these bytes and reads until the server closes the connection. */
export async function exchange(server: Server, ...parts: (string | Buffer)[]): Promise<string> {
  const socket = await open(server);
  const answer = untilClosed(socket);
  for (const part of parts) socket.write(part);
  return answer;
}

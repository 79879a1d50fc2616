import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { serveControl } from './control.js';
import { serveCourier } from './courier.js';
import type { ApnsStandInControl } from './stand-in-control.js';
import type { TokenStore } from './token-store.js';

const LOOPBACK_PEER = /^(127\.|::1$|::ffff:127\.)/;
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

/** Only programs on this machine, and no page in a browser, which would send an Origin. */
function isWelcome({ socket, headers }: IncomingMessage): boolean {
  if (!LOOPBACK_PEER.test(socket.remoteAddress ?? '')) return false;
  return LOOPBACK_HOST.test(headers.host ?? '') && headers.origin === undefined;
}

/** The courier of the devices, and the control of the stand-in. */
export function createSideServer(store: TokenStore, control: ApnsStandInControl): Server {
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (!isWelcome(request)) {
      response.writeHead(403).end();
    } else if (request.url === '/courier' && request.method === 'POST') {
      serveCourier(store, request, response);
    } else {
      serveControl(control, request, response).catch(() => response.destroy());
    }
  };
  // A courier's request has no end.
  return createServer({ requestTimeout: 0, headersTimeout: 20_000 }, serve);
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isWelcome } from '../wire/control-http.js';
import { serveControl } from './control.js';
import { serveCourier } from './courier.js';
import type { ApnsStandInControl } from './stand-in-control.js';
import type { TokenStore } from './token-store.js';

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

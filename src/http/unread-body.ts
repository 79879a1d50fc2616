import type { IncomingMessage, ServerResponse } from 'node:http';

/** Time for the client to read an answer that came before its body had ended. */
const LINGER_MS = 1_000;

/** Ends the connection of a request that still sends its body after the answer: Node reads on. */
export function endUnreadBody(req: IncomingMessage, res: ServerResponse): void {
  res.once('finish', () => {
    if (req.complete) return;
    const end = () => req.complete || req.socket.destroy();
    setTimeout(end, LINGER_MS).unref();
  });
}

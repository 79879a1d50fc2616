import { connect } from 'node:tls';

const PATIENCE_MS = 2_000;

/** Whether a TLS server answers where `url` says http, whatever certificate it shows. */
export function speaksTls(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    // Only to know who is there: nothing is sent.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false });
    const conclude = (isTls: boolean) => {
      socket.destroy();
      resolve(isTls);
    };
    socket.setTimeout(PATIENCE_MS, () => conclude(false));
    socket.once('secureConnect', () => conclude(true));
    socket.once('error', () => conclude(false));
    socket.once('close', () => conclude(false));
  });
}

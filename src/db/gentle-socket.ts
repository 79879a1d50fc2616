import { Socket } from 'node:net';

/** The most that Node reads at once: a full read means that more lies ready. */
const FULL_READ = 64 * 1024;

/**
 * A connection that hands over one piece of a large result in each turn of the event loop. Node
 * reads 32 such pieces in a row where it can, which the driver takes apart without a pause: a page
 * of 1,000 wide rows would keep every other request waiting three times as long.
 */
export function createGentleSocket(): Socket {
  const socket = new Socket();
  socket.on('data', (piece) => {
    if (piece.length < FULL_READ) return;
    socket.pause();
    setImmediate(() => socket.resume());
  });
  return socket;
}

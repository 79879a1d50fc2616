import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createGentleSocket } from '../../src/db/gentle-socket.js';
import { createTestDatabase } from '../helpers/database.js';

const FULL = 64 * 1024;

describe('a gentle socket', () => {
  it('hands over no two full pieces in one turn of the event loop, and loses nothing', async () => {
    const sent = Buffer.alloc(64 * FULL, 7);
    const server = createServer((peer) => peer.end(sent)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const turns: number[] = [];
    let received = 0;
    let turn = 0;
    let ticking = setImmediate(function tick() {
      turn += 1;
      ticking = setImmediate(tick);
    });
    const socket = createGentleSocket();
    socket.on('data', (piece: Buffer) => {
      received += piece.length;
      if (piece.length === FULL) turns.push(turn);
    });
    socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'close');
    clearImmediate(ticking);
    server.close();
    expect(received).toBe(sent.length);
    expect(turns.length).toBeGreaterThan(1);
    expect(new Set(turns).size).toBe(turns.length);
  });
});

describe('the connections of the admin side', () => {
  it('bring large results whole', async () => {
    const database = await createTestDatabase();
    try {
      const text = `select n, repeat(chr(97 + n % 26), 100000) as filling from generate_series(1, 60) n`;
      const { rows } = await database.db.knex.raw<{ rows: { n: number; filling: string }[] }>(text);
      expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
      expect(rows.map(({ filling }) => filling)).toEqual(
        rows.map(({ n }) => String.fromCharCode(97 + (n % 26)).repeat(100_000)),
      );
    } finally {
      await database.drop();
    }
  });
});

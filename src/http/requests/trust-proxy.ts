import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

export interface ProxyTrust {
  /** True when the peer of this connection is one of the listed proxies. */
  isTrusted(address: string | undefined): boolean;
  /** The client: the peer, or the last hop of X-Forwarded-For that is no listed proxy. */
  sourceAddress(req: IncomingMessage): string | null;
}

/** A dual-stack socket has IPv4 addresses as ::ffff:a.b.c.d. */
function normalise(address: string): string {
  return /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1] ?? address;
}

function family(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function addEntry(list: BlockList, entry: string): void {
  const [address = '', prefix, ...rest] = entry.split('/');
  const version = isIP(address);
  const longest = version === 6 ? 128 : 32;
  const bits = prefix === undefined ? longest : Number(prefix);
  const wellFormed = prefix === undefined || /^\d{1,3}$/.test(prefix);
  if (version === 0 || rest.length > 0 || !wellFormed || bits > longest) {
    throw new TypeError(`${JSON.stringify(entry)} is not an IP address or CIDR block`);
  }
  list.addSubnet(address, bits, family(address));
}

// Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711.
function hopAddress(hop: string): string | undefined {
  const bare = hop.trim();
  const address = /^\[(.+)\](?::\d+)?$/.exec(bare)?.[1] ?? /^([\d.]+):\d+$/.exec(bare)?.[1] ?? bare;
  return isIP(address) === 0 ? undefined : normalise(address);
}

/** @param entries addresses and CIDR blocks of TRUST_PROXY; TypeError names one that is neither. */
export function createProxyTrust(entries: readonly string[]): ProxyTrust {
  const list = new BlockList();
  for (const entry of entries) addEntry(list, entry);

  function isTrusted(address: string | undefined): boolean {
    if (entries.length === 0 || address === undefined) return false;
    const plain = normalise(address);
    return list.check(plain, family(plain));
  }

  function sourceAddress(req: IncomingMessage): string | null {
    const peer = req.socket.remoteAddress;
    if (peer === undefined) return null;
    let client = normalise(peer);
    const header = req.headers['x-forwarded-for'];
    const hops = header === undefined ? [] : String(header).split(',');
    while (isTrusted(client)) {
      const hop = hops.pop();
      const address = hop === undefined ? undefined : hopAddress(hop);
      if (address === undefined) break;
      client = address;
    }
    return client;
  }

  return { isTrusted, sourceAddress };
}

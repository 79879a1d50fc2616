import { lookup } from 'node:dns/promises';
import { getAnswer, type HttpAnswer } from './http-answer.js';
import { ANY_TLS, AS_DEVICES, type Handshake, handshake } from './tls-handshake.js';

/** What PUBLIC_URL answers to a client that connects as devices do. */
export interface AddressProbe {
  /** The host name or the connection failed; the other members are then undefined. */
  unreachable?: { kind: 'name' | 'connection'; reason: string } | undefined;
  /** The handshake of a device; undefined for http:, or if it fails. */
  tls?: Handshake | undefined;
  /** Why the handshake of a device fails, and what the server offers to other clients. */
  tlsFailure?: { reason: string; offers: Handshake | undefined } | undefined;
  /** Whether the stored trust anchors make devices trust the certificate. */
  isTrustedWithAnchors?: boolean | undefined;
  /** GET /readyz. */
  ready?: HttpAnswer | undefined;
  /** GET /scep?operation=GetCACert: DER. */
  authority?: Buffer | undefined;
  httpFailure?: string | undefined;
}

export interface ProbeOptions {
  publicUrl: string;
  /** PEM of the anchors that enrollment profiles and DEP profiles carry. */
  anchors: () => Promise<string[]>;
  /** Limit for each step. */
  timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 4_000;

/** Looks at PUBLIC_URL from this machine. Never rejects for what the other side does. */
export async function probeAddress(options: ProbeOptions): Promise<AddressProbe> {
  const url = new URL(options.publicUrl);
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const unresolved = await lookup(host).then(() => undefined, reasonOf);
  if (unresolved !== undefined) return { unreachable: { kind: 'name', reason: unresolved } };
  if (url.protocol === 'http:') return await askOver(url, timeoutMs);
  const where = { host, port: Number(url.port || 443), timeoutMs };
  const attempt = await attemptTls(where, options.anchors);
  if (attempt.unreachable !== undefined) return attempt;
  return { ...(await askOver(url, timeoutMs)), ...attempt };
}

type Where = { host: string; port: number; timeoutMs: number };

async function attemptTls(where: Where, anchors: ProbeOptions['anchors']): Promise<AddressProbe> {
  try {
    const tls = await handshake({ ...where, ...AS_DEVICES });
    if (tls.isTrusted) return { tls, isTrustedWithAnchors: true };
    const stored = await anchors().catch(() => []);
    if (stored.length === 0) return { tls, isTrustedWithAnchors: false };
    const again = await handshake({ ...where, ...AS_DEVICES, anchors: stored });
    return { tls, isTrustedWithAnchors: again.isTrusted };
  } catch (error) {
    const reason = reasonOf(error);
    if (isNoConnection(error)) return { unreachable: { kind: 'connection', reason } };
    const offers = await handshake({ ...where, ...ANY_TLS }).catch(() => undefined);
    return { tlsFailure: { reason, offers } };
  }
}

async function askOver(url: URL, timeoutMs: number): Promise<AddressProbe> {
  const base = url.href.replace(/\/$/, '');
  try {
    const ready = await getAnswer(new URL(`${base}/readyz`), timeoutMs);
    const scep = await getAnswer(new URL(`${base}/scep?operation=GetCACert`), timeoutMs);
    return { ready, authority: scep.status === 200 ? scep.body : undefined };
  } catch (error) {
    const reason = reasonOf(error);
    if (url.protocol === 'http:') return { unreachable: { kind: 'connection', reason } };
    return { httpFailure: reason };
  }
}

const NO_CONNECTION = ['ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'];

function isNoConnection(error: unknown): boolean {
  return NO_CONNECTION.includes(String((error as NodeJS.ErrnoException).code));
}

/** A host name with several addresses gives an AggregateError without a message. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}

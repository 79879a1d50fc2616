interface Holder {
  musterTestServer?: { stop(): Promise<void> };
}

module.exports = async function globalTeardown(): Promise<void> {
  await (globalThis as Holder).musterTestServer?.stop();
};

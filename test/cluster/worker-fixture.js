// What a worker says to its primary, without a server; its settings are the name of what it does.
process.on('message', ({ kind, settings }) => {
  if (kind === 'stop') process.exit(0);
  if (kind !== 'start') return;
  if (settings === 'exits') process.exit(3);
  if (settings === 'fails') {
    process.send({ kind: 'failed', message: 'no room' }, () => process.exit(1));
    return;
  }
  process.send({ kind: 'unknown' });
  process.send({ kind: 'serving', address: '127.0.0.1', port: 1, family: 'IPv4' });
});
process.send({ kind: 'ready' });

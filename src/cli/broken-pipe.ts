/**
 * `muster … | head` is no fault: what nobody reads any more is dropped. A command that would run on
 * is stopped as by Ctrl-C; any other does its work to the end.
 */
export function endWithReader(out: NodeJS.WriteStream): void {
  out.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (process.listenerCount('SIGINT') > 0) process.emit('SIGINT', 'SIGINT');
  });
}

import { PerformanceObserver } from 'node:perf_hooks';

/**
 * Metrics of a process watch its garbage collection as long as it lives. A worker of jest lives on,
 * and would keep all modules of each test file for the sake of these observers.
 */
const watching = new Set<PerformanceObserver>();
const { observe } = PerformanceObserver.prototype;

PerformanceObserver.prototype.observe = function (this: PerformanceObserver, options) {
  watching.add(this);
  observe.call(this, options);
};

afterAll(() => {
  PerformanceObserver.prototype.observe = observe;
  for (const observer of watching) observer.disconnect();
});

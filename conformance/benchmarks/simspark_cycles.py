"""Measure a cycle of the reference server: 22 agents that move all hinges, 2 monitors.

A cycle is a step of the world, the rules, and a group of perceptions for every agent. Every second
cycle also has a state for every monitor. A cycle must take less than its period of 20 ms.
"""

import sys
import time

from conformance.benchmarks.simspark_reading import PLAYERS, Nowhere, match
from mocks.simspark.settings import CYCLE

MONITORS = 2
CYCLES = 1500  # 30 s of a match
TURNING = 50  # cycles after which the hinges turn back, before they reach their stops


def main() -> int:
    server = match()
    for _ in range(MONITORS):
        monitor = server.new_monitor()
        monitor.stream = Nowhere()
        monitor.opened()
    times = []
    for cycle in range(CYCLES):
        if cycle % TURNING == 0:
            for robot in server.world.robots:
                robot.speeds = [-speed for speed in robot.speeds]
        began = time.perf_counter()
        server.cycle()
        times.append(time.perf_counter() - began)
    times.sort()
    p50, p99 = (1000 * times[int(share * len(times))] for share in (0.5, 0.99))
    print(f"{PLAYERS} agents, {MONITORS} monitors, {CYCLES} cycles of {1000 * CYCLE:g} ms")
    print(f"p50 {p50:.2f} ms   p99 {p99:.2f} ms   longest {1000 * times[-1]:.2f} ms")
    return 0 if p99 < 1000 * CYCLE else 1


if __name__ == "__main__":
    sys.exit(main())

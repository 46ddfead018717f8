"""The store in Apache Spark: its tables and views on a session of yours, for logs that one machine is too small for.

import bench.spark

bench.spark.register(spark, "/data/.bench")
spark.sql("SELECT name, backend, speedup FROM speedups").show()
bench.spark.ask(spark, "FROM flags(min_speedup := 0.97)").show()
"""

from .query.engines.spark_views import ask, register

__all__ = ["ask", "register"]

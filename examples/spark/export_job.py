"""`acklog export` for spark-submit, which wants a file:

spark-submit --master yarn --deploy-mode cluster export_job.py run flights --to hdfs:///lake/acklog --server URL
"""

import sys

from acklog.command import main

if __name__ == "__main__":
    sys.argv[1:] = ["export", *sys.argv[1:]]
    main()
